import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard backup`
struct Backup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Write accounts, providers and policies to an encrypted file.",
    discussion: """
      The file holds your accounts, the settings of the providers (with client secrets), policies, PINs, and the data \
      that programs keep with your accounts. It holds no tokens: after `lanyard restore` you sign in once, and that \
      data is there again. Data under a PIN still needs the PIN.

      The backup has a passphrase of its own. The command asks for it twice, or reads it from --pw-file or stdin. \
      Without this passphrase the file can't be read. An existing file is never overwritten.

      --with-refresh-tokens adds the refresh tokens. BEWARE: anyone who can open this file is signed in as you. A \
      provider that rotates refresh tokens takes the second use of one for a theft: once this machine and a restored \
      copy have both used them, it ends both sign-ins. Use this only to move to a new machine.

      EXAMPLES:
        lanyard backup /media/stick/lanyard.backup
        lanyard backup ~/lanyard.backup --pw-file /run/secrets/backup
      """)

  @Argument(help: "The new file.", completion: .file())
  var file: String

  @Flag(name: .long, help: "Add the refresh tokens. Read the warning above first.")
  var withRefreshTokens = false

  @OptionGroup var secret: PassphraseOptions

  @OptionGroup var common: CommonOptions

  func validate() throws {
    // A person would hand on the file as that of one account.
    if common.account != nil {
      throw ValidationError("A backup has all accounts: leave out --account. Nothing was written.")
    }
  }

  func run() throws {
    let path = try BackupPath.absolute(file)
    var agent = try common.connect()
    let passphrase = try SecretInput.privateLine(
      of: secret.passphraseFile ?? "-", question: "A passphrase for the backup (not shown): ")
    if secret.passphraseFile == nil, Terminal.canAsk { try passphrase.confirm() }
    if withRefreshTokens {
      Output.warning("This backup holds refresh tokens. Anyone who opens it is signed in as you.")
    }
    let id = try agent.send("agent.backup") { writer in
      writer.member("path", path)
      writer.key("passphrase")
      passphrase.withBytes { writer.string(utf8: $0) }
      writer.member("includeRefreshTokens", withRefreshTokens)
    }
    try LongWork("Writing the backup").wait(for: id, via: &agent) { result in
      if common.json { return Output.answer(json: result.raw) }
      let counted = [
        Counted.text(result["accounts"]?.integer, "account"), Counted.text(result["providers"]?.integer, "provider"),
        Counted.text(result["policies"]?.integer, "policy", "policies"),
      ]
      Output.done("\(Text.shown(path)): \(counted.joined(separator: ", ")).", isRecord: true)
      SkippedItems.tell(result["skipped"])
    }
  }
}
