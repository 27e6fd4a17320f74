import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard key add`
struct KeyAdd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add a way to open the vault.",
    discussion: "A passphrase is asked for twice, or read from --pw-file or stdin; it is never an argument.")

  @Argument(help: "What opens it: passphrase, key-file, secret-service or systemd-credential.")
  var protection: Protection

  @Option(
    name: [.customLong("pw-file"), .customLong("passphrase-file")],
    help: ArgumentHelp("A file with the passphrase; - reads it from stdin.", valueName: "file"), completion: .file())
  var passphraseFile: String?

  @Flag(name: .long, help: "Have the agent ask for the passphrase by pinentry.")
  var pinentry = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if protection != .passphrase, passphraseFile != nil || pinentry {
      throw ValidationError("Only a slot of the kind `passphrase` has a passphrase.")
    }
    if passphraseFile != nil, pinentry { throw ValidationError("--pw-file and --pinentry are two ways; choose one.") }
  }

  func run() throws {
    var agent = try common.connect()
    guard protection == .passphrase, !pinentry else {
      return try agent.call("agent.addKeySlot") { writer in
        writer.member("protection", protection.name)
        if pinentry { writer.member("prompt", "pinentry") }
      } result: {
        show($0)
      }
    }
    let passphrase = try SecretInput.privateLine(
      of: passphraseFile ?? "-", question: "A new passphrase for the vault (not shown): ")
    if passphraseFile == nil, Terminal.canAsk { try passphrase.confirm() }
    try agent.call("agent.addKeySlot") { writer in
      writer.member("protection", protection.name)
      writer.key("passphrase")
      passphrase.withBytes { writer.string(utf8: $0) }
    } result: {
      show($0)
    }
  }

  private func show(_ result: JSONNode) {
    if common.json { return Output.answer(json: result.raw) }
    let number = result["slot"]?.integer.map { String($0) } ?? "-"
    Output.answer("Slot \(number): the vault is opened by \(protection.words), too.")
  }
}
