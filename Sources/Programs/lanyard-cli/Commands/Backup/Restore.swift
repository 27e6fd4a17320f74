import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard restore`
struct Restore: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Take from a backup what is not here.",
    discussion: """
      Nothing that is here is changed: an account, provider or policy that is here already stays as it is, and is named. \
      Accounts come back signed out. Sign in as the same person, and what programs kept with the account is there \
      again; where a PIN protected it, `lanyard step-up` opens it after that.

      If this is cut off, what was taken in stays; the same command does the rest.

      EXAMPLES:
        lanyard restore /media/stick/lanyard.backup
        lanyard restore ~/lanyard.backup --pw-file /run/secrets/backup
      """)

  @Argument(help: "The backup.", completion: .file())
  var file: String

  @Option(
    name: [.customLong("pw-file"), .customLong("passphrase-file")],
    help: ArgumentHelp("A file with the passphrase; - reads it from stdin.", valueName: "file"), completion: .file())
  var passphraseFile: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    let path = try BackupPath.absolute(file)
    var agent = try common.connect()
    let passphrase = try SecretInput.line(
      of: passphraseFile ?? "-", question: "The passphrase of the backup (not shown): ")
    let id = try agent.send("agent.restore") { writer in
      writer.member("path", path)
      writer.key("passphrase")
      passphrase.withBytes { writer.string(utf8: $0) }
    }
    try LongWork("Reading the backup").wait(for: "agent.restore", id, over: &agent) { result in
      if common.json { return Output.answer(json: result.raw) }
      show(result)
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
        Output.answer("Nothing was restored from the backup\(when), and nothing was changed.")
        return SkippedItems.tell(result["skipped"])
      }
      return Output.answer("All of the backup\(when) is here already. Nothing was changed.")
    }
    let counted = [
      Counted.words(Int64(accounts.count), "account"), Counted.words(Int64(providers), "provider"),
      Counted.words(Int64(policies), "policy", "policies"),
    ]
    Output.answer("Restored from the backup\(when): \(counted.joined(separator: ", ")).")
    for account in accounts {
      let next = account.state == "signedOut" ? ": sign in by `lanyard login --account \(account.label)`" : ""
      Output.answer("  \(Text.shown(account.label)) (\(Text.shown(account.person)))\(Text.shown(next))")
    }
    SkippedItems.tell(result["skipped"])
  }
}
