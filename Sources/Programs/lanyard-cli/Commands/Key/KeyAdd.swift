import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard key add`
struct KeyAdd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add a key slot.",
    discussion: "The command asks for a passphrase twice, or reads it from --pw-file or stdin.")

  @Argument(help: "How the slot is protected.")
  var protection: Protection

  @OptionGroup var secret: PassphraseOptions

  @Flag(name: .long, help: "Let the agent ask for the passphrase with pinentry.")
  var pinentry = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if protection != .passphrase, secret.passphraseFile != nil || pinentry {
      throw ValidationError("--pw-file and --pinentry go with `passphrase` only.")
    }
    if secret.passphraseFile != nil, pinentry { throw ValidationError("Choose --pw-file or --pinentry, not both.") }
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
      of: secret.passphraseFile ?? "-", question: "A new passphrase for the vault (not shown): ")
    if secret.passphraseFile == nil, Terminal.canAsk { try passphrase.confirm() }
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
    Output.done("Added key slot \(number): \(protection.displayName) opens the vault, too.")
  }
}
