import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard unlock`
struct Unlock: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Unlock the vault.",
    discussion: """
      Asks for the passphrase, if one protects the vault; the first time, for a new one. A vault that is protected
      otherwise is opened by what protects it.

      --pw-cmd is run by /bin/sh with your environment and your terminal: lanyard unlock --pw-cmd 'pass show lanyard'
      """)

  @Option(
    name: [.customLong("pw-file"), .customLong("passphrase-file")],
    help: "A file with the passphrase, which only you can read; - reads it from stdin.", completion: .file())
  var passphraseFile: String?

  @Option(name: .customLong("pw-cmd"), help: "A command whose first line is the passphrase.")
  var passphraseCommand: String?

  @Flag(help: "Have the agent ask for the passphrase, where this program does not see it.")
  var pinentry = false

  /// Who asks for the passphrase in this program's place.
  enum Prompt: String, CaseIterable, ExpressibleByArgument { case pinentry }

  @Option(name: .long, help: .hidden)
  var prompt: Prompt?

  @OptionGroup var common: CommonOptions

  private var isPrompted: Bool { pinentry || prompt != nil }
  /// The passphrase comes from elsewhere than the person's fingers.
  private var isGiven: Bool { passphraseFile != nil || passphraseCommand != nil }

  /// A slip of the finger or two; the agent slows down who tries more.
  private static let attempts = 3

  func validate() throws {
    guard [passphraseFile != nil, passphraseCommand != nil, isPrompted].count(where: { $0 }) <= 1 else {
      throw ValidationError("--pw-file, --pw-cmd and --pinentry are different ways; choose one.")
    }
  }

  func run() throws {
    var agent = try common.connect()
    let status = try agent.call("agent.status") { AgentInfo($0) }
    guard status.isLocked || !status.isInitialized else { return try unlock(over: &agent) }
    if isPrompted { return try unlock(over: &agent) }
    if !isGiven, status.protection != "passphrase" {
      do throws(CommandFailure) {
        return try unlock(over: &agent)
      } catch {
        // Of several ways to the vault, those that need no person did not open it: a passphrase does.
        guard error.name == "invalidParams", status.isInitialized else { throw error }
      }
    }
    guard status.isInitialized else { return try initialize(over: &agent) }
    for attempt in 1... {
      do throws(CommandFailure) {
        return try unlock(passphrase(asking: "Passphrase (not shown): "), over: &agent)
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

  private func unlock(over agent: inout AgentConnection) throws(CommandFailure) {
    try agent.call("agent.unlock", params: { $0.member("prompt", isPrompted ? Prompt.pinentry.rawValue : nil) }) {
      Lock.show($0, json: common.json)
    }
  }

  private func unlock(_ passphrase: consuming SecretInput, over agent: inout AgentConnection) throws(CommandFailure) {
    try agent.call("agent.unlock") { writer in
      writer.key("passphrase")
      passphrase.withBytes { writer.string(utf8: $0) }
    } result: {
      Lock.show($0, json: common.json)
    }
  }

  /// A vault that was never made: the passphrase is chosen now, and typed twice where it can't be seen.
  private func initialize(over agent: inout AgentConnection) throws(CommandFailure) {
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
