import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard backup`
struct Backup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Write accounts, providers and policies into a file that a passphrase of its own opens.",
    discussion: """
      The file holds who you are where, how providers are configured (with their client secrets), policies, PINs, and \
      what programs keep with your accounts. It holds no token: after `lanyard restore` you sign in once, and what \
      programs kept is there again. What a PIN protects needs that PIN again, besides the passphrase.

      The file is new: nothing is overwritten. Without its passphrase nobody can read it, you neither; there is no other \
      way in. The passphrase is asked for twice, or read from --pw-file or stdin.

      --with-refresh-tokens puts the tokens in, too. BEWARE: a provider that rotates refresh tokens takes the second use \
      of one for a theft. Once this machine and a restored copy have both been used, it ends both sign-ins, and both \
      must sign in again. Whoever opens such a file is signed in as you. It is for a machine that this one is replaced \
      by, and for nothing else.

      EXAMPLES:
        lanyard backup /media/stick/lanyard.backup
        lanyard backup ~/lanyard.backup --pw-file /run/secrets/backup
      """)

  @Argument(help: "Where to write it: a file that does not exist.", completion: .file())
  var file: String

  @Flag(name: .long, help: "Put refresh tokens in, too: see above what that may end.")
  var withRefreshTokens = false

  @Option(
    name: [.customLong("pw-file"), .customLong("passphrase-file")],
    help: ArgumentHelp("A file with the passphrase; - reads it from stdin.", valueName: "file"), completion: .file())
  var passphraseFile: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    let path = try BackupPath.absolute(file)
    var agent = try common.connect()
    let passphrase = try SecretInput.line(
      of: passphraseFile ?? "-", question: "A passphrase for the backup (not shown): ")
    if passphraseFile == nil, Terminal.canAsk { try passphrase.confirm() }
    if withRefreshTokens {
      Output.warning("whoever opens this backup is signed in as you; used in two places, its tokens end both.")
    }
    let id = try agent.send("agent.backup") { writer in
      writer.member("path", path)
      writer.key("passphrase")
      passphrase.withBytes { writer.string(utf8: $0) }
      writer.member("includeRefreshTokens", withRefreshTokens)
    }
    try LongWork("Writing the backup").wait(for: "agent.backup", id, over: &agent) { result in
      if common.json { return Output.answer(json: result.raw) }
      let counted = [
        Counted.words(result["accounts"]?.integer, "account"), Counted.words(result["providers"]?.integer, "provider"),
        Counted.words(result["policies"]?.integer, "policy", "policies"),
      ]
      Output.answer("\(Text.shown(path)): \(counted.joined(separator: ", ")).")
      SkippedItems.tell(result["skipped"])
    }
  }
}
