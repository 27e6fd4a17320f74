import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard unlock`
struct Unlock: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Unlock the vault.",
    discussion: """
      Asks for the passphrase if one protects the vault; the first time, for a new passphrase. Any other protection \
      opens the vault without a question.

      /bin/sh runs the command of --pw-cmd with your environment and terminal.

      EXAMPLES:
        lanyard unlock
        lanyard unlock --pw-cmd 'pass show lanyard'
      """)

  @Option(
    name: [.customLong("pw-file"), .customLong("passphrase-file")],
    help: "A file with the passphrase that only you can read; - reads stdin.", completion: .file())
  var passphraseFile: String?

  @Option(name: .customLong("pw-cmd"), help: "A command that prints the passphrase on its first line.")
  var passphraseCommand: String?

  @Flag(help: "Let the agent ask for the passphrase with pinentry.")
  var pinentry = false

  /// The program that asks for the passphrase instead of this one.
  enum Prompt: String, CaseIterable, ExpressibleByArgument { case pinentry }

  @Option(name: .long, help: .hidden)
  var prompt: Prompt?

  @OptionGroup var common: CommonOptions

  private var isPrompted: Bool { pinentry || prompt != nil }
  /// The passphrase comes from a file or a command.
  private var isGiven: Bool { passphraseFile != nil || passphraseCommand != nil }

  /// The number of attempts in one run of the command. The agent slows down further attempts.
  private static let attempts = 3

  func validate() throws {
    guard [passphraseFile != nil, passphraseCommand != nil, isPrompted].count(where: { $0 }) <= 1 else {
      throw ValidationError("Of --pw-file, --pw-cmd and --pinentry, choose one.")
    }
  }

  func run() throws {
    var agent = try common.connect()
    let status = try agent.call("agent.status") { AgentInfo($0) }
    guard status.isLocked || !status.isInitialized else { return try unlock(via: &agent) }
    if isPrompted { return try unlock(via: &agent) }
    if isGiven, !status.isInitialized, status.protection != "passphrase" {
      throw CommandFailure.usage(
        "A new vault is \(status.protectionWords), as this agent was started. No passphrase was set.",
        hints: ["`lanyard unlock` makes the vault; then `lanyard key add passphrase` adds a passphrase."])
    }
    if !isGiven, status.protection != "passphrase" {
      do throws(CommandFailure) {
        return try unlock(via: &agent)
      } catch {
        // No key slot that works without a person opened the vault; a passphrase slot exists.
        guard error.name == "invalidParams", status.isInitialized else { throw error }
      }
    }
    guard status.isInitialized else { return try initialize(via: &agent) }
    for attempt in 1... {
      do throws(CommandFailure) {
        return try unlock(passphrase(asking: "Passphrase (not shown): "), via: &agent)
      } catch {
        guard error.name == "unlockFailed", !isGiven, Terminal.canAsk, attempt < Self.attempts else {
          throw error
        }
        Output.tell(error, json: false)
      }
    }
  }

  private func passphrase(asking question: String) throws(CommandFailure) -> SecretInput {
    if let passphraseCommand { return try .firstLine(ofCommand: passphraseCommand) }
    return try .privateLine(of: passphraseFile ?? "-", question: question)
  }

  private func unlock(via agent: inout AgentConnection) throws(CommandFailure) {
    try agent.call("agent.unlock", params: { $0.member("prompt", isPrompted ? Prompt.pinentry.rawValue : nil) }) {
      Lock.show($0, json: common.json)
    }
  }

  private func unlock(_ passphrase: consuming SecretInput, via agent: inout AgentConnection) throws(CommandFailure) {
    try agent.call("agent.unlock") { writer in
      writer.key("passphrase")
      passphrase.withBytes { writer.string(utf8: $0) }
    } result: {
      Lock.show($0, json: common.json)
    }
  }

  /// Creates the vault with a new passphrase, which a person types twice.
  private func initialize(via agent: inout AgentConnection) throws(CommandFailure) {
    let first = try passphrase(asking: "A new passphrase for the vault (not shown): ")
    if !isGiven, Terminal.canAsk { try first.confirm() }
    try agent.call("agent.initialize") { writer in
      writer.member("protection", "passphrase")
      writer.key("passphrase")
      first.withBytes { writer.string(utf8: $0) }
    } result: {
      Lock.show($0, json: common.json)
    }
  }
}
