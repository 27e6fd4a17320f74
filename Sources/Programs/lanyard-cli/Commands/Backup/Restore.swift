import ArgumentParser
import CommandSupport
import Glibc
import JSONRPC

/// `lanyard restore`
struct Restore: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Add the accounts, providers and policies of a backup.",
    discussion: """
      An account, provider or policy that exists here is listed and not changed. Restored accounts are signed out. \
      Sign in as the same person to open the data of the account; if a PIN protected it, then run `lanyard step-up`.

      If the command is interrupted, run it again: it adds what is missing.

      EXAMPLES:
        lanyard restore /media/stick/lanyard.backup
        lanyard restore ~/lanyard.backup --pw-file /run/secrets/backup
      """)

  @Argument(help: "The backup file.", completion: .file())
  var file: String

  @OptionGroup var secret: PassphraseOptions

  @OptionGroup var common: CommonOptions

  func run() throws {
    let path = try BackupPath.absolute(file)
    // The agent reads the file. A person who has to type a passphrase is told of a mistake before.
    if secret.passphraseFile == nil, Terminal.canType, access(path, R_OK) != 0 {
      throw CommandFailure.usage(Text.shown("\(path) can't be read: \(SystemError.message(errno))."))
    }
    var agent = try common.connect()
    let passphrase = try SecretInput.privateLine(
      of: secret.passphraseFile ?? "-", question: "The passphrase of the backup (not shown): ")
    let id = try agent.send("agent.restore") { writer in
      writer.member("path", path)
      writer.key("passphrase")
      passphrase.withBytes { writer.string(utf8: $0) }
    }
    do throws(CommandFailure) {
      try LongWork("Reading the backup").wait(for: id, via: &agent) { result in
        if common.json { return Output.answer(json: result.raw) }
        show(result)
      }
    } catch {
      var told = error
      // The file is at fault, and the message says what helps.
      if error.name == "integrity", error.message.hasPrefix("The backup ") { told.hints = [] }
      throw told
    }
  }

  private static func count(_ items: JSONNode?) -> Int { items.map { Array($0.elements).count } ?? 0 }

  private func show(_ result: JSONNode) {
    let accounts = result["accounts"]?.elements.map { AccountInfo($0) } ?? []
    let providers = Self.count(result["providers"])
    let policies = Self.count(result["policies"])
    let when = result["createdAt"]?.string.flatMap { Moment($0) }.map { " of \($0.dateAndTime)" } ?? ""
    if accounts.isEmpty, providers == 0, policies == 0 {
      guard SkippedItems.areAllThere(result["skipped"]) else {
        Output.done("Nothing was restored from the backup\(when). Nothing was changed.")
        return SkippedItems.tell(result["skipped"])
      }
      return Output.done("Everything in the backup\(when) exists here already. Nothing was changed.")
    }
    let counted = [
      Counted.text(Int64(accounts.count), "account"), Counted.text(Int64(providers), "provider"),
      Counted.text(Int64(policies), "policy", "policies"),
    ]
    Output.done("Restored from the backup\(when): \(counted.joined(separator: ", ")).", isRecord: true)
    for account in accounts {
      let next = account.state == "signedOut" ? ": sign in with `lanyard login --account \(account.label)`" : ""
      Output.done("  \(Text.shown(account.label)) (\(Text.shown(account.person)))\(Text.shown(next))")
    }
    SkippedItems.tell(result["skipped"])
  }
}
