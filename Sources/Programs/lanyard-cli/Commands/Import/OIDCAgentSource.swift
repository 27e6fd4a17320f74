import CommandSupport
import Glibc
import JSONRPC

/// The account configurations of oidc-agent (4 and 5): one encrypted file each, which only `oidc-gen` can open.
final class OIDCAgentSource: ImportSource {
  let program = "oidc-agent"
  private let file: String?
  private let passphraseFile: String?

  init(_ request: ImportRequest) {
    file = request.file
    passphraseFile = request.passphraseFile
  }

  func entries() throws(CommandFailure) -> [ImportEntry] {
    let generator = try ChildOutput.require("oidc-gen", package: "oidc-agent-cli")
    let names = if let file { [try BackupPath.absolute(file)] } else { try names(by: generator) }
    guard !names.isEmpty else { return [] }
    let passphrase = try readPassphrase()
    var entries: [ImportEntry] = []
    for name in names { entries.append(try entry(name, passphrase, generator)) }
    return entries.named()
  }

  /// The short names. The first line of the list is a heading.
  private func names(by generator: String) throws(CommandFailure) -> [String] {
    let listed = try ChildOutput.of(generator, ["--accounts"])
    guard listed.hasSucceeded else { throw failure(of: listed, "list its accounts") }
    return listed.stdout.text(0..<listed.stdout.count).split(whereSeparator: \.isNewline).dropFirst()
      .map { $0.trimming { $0.isWhitespace } }.filter { !$0.isEmpty }
  }

  /// One for all accounts. With a line end, since `oidc-gen` reads a line.
  private func readPassphrase() throws(CommandFailure) -> HeldBytes? {
    guard passphraseFile != nil || Terminal.canType else { return nil }
    let passphrase =
      if let passphraseFile {
        try SecretInput.privateLine(of: passphraseFile, question: "")
      } else {
        try SecretInput.ask("Encryption password of oidc-agent (not shown): ")
      }
    let line = passphrase.withBytes { HeldBytes($0) }
    [UInt8(ascii: "\n")].withUnsafeBytes { line.append($0) }
    return line
  }

  private func entry(
    _ name: String, _ passphrase: HeldBytes?, _ generator: String
  ) throws(CommandFailure) -> ImportEntry {
    var entry = ImportEntry(name: AgentPaths.file(of: name))
    entry.place = name.hasPrefix("/") ? name : try Self.directory() + "/" + name
    let store = try StoreFile.require(entry.place)
    // One that is encrypted for a GPG key takes no password.
    let isForKey = GnuPG.isEncrypted(store.contents)
    guard passphrase != nil || isForKey else {
      entry.lack = "its encryption password is needed: --pw-file FILE"
      return entry
    }
    let arguments = ["--print=\(entry.place)"] + (isForKey ? [] : ["--pw-file=/dev/stdin"])
    let printed = try ChildOutput.of(generator, arguments, input: isForKey ? nil : passphrase)
    guard printed.hasSucceeded else {
      entry.lack = "the password does not open it"
      entry.advice = ["Another password: `lanyard import oidc-agent \(ErrorMessages.shellWord(entry.place))`."]
      return entry
    }
    let found: ImportEntry?? = printed.stdout.withBytes { bytes in
      JSONInput.read(bytes) { node in Self.parse(node, into: entry) }
    }
    guard let found, let found else {
      throw StoreFile.malformed(entry.place, "what oidc-gen prints, a JSON object with issuer_url and client_id")
    }
    return found
  }

  /// Nil for what is no account configuration.
  static func parse(_ node: JSONNode, into entry: ImportEntry) -> ImportEntry? {
    guard let issuer = node["issuer_url"]?.string, let client = node["client_id"]?.string, !issuer.isEmpty,
      !client.isEmpty
    else { return nil }
    var entry = entry
    if let name = node["name"]?.string, !name.isEmpty { entry.name = name }
    entry.issuer = issuer
    entry.clientID = client
    entry.clientSecret = HeldBytes(node["client_secret"])
    // Only what a registration wrote, and only what goes with what the file has.
    let methods = ["client_secret_basic", "client_secret_post"]
    entry.authMethod = node["token_endpoint_auth_method"]?.string.flatMap { methods.contains($0) ? $0 : nil }
    if entry.clientSecret == nil { entry.authMethod = nil }
    entry.scopes = node["scope"]?.string?.split(separator: " ").map(String.init) ?? []
    entry.user = node["username"]?.string.flatMap { $0.isEmpty ? nil : $0 }
    entry.refreshToken = HeldBytes(node["refresh_token"])
    return entry
  }

  /// Deletes the file. `oidc-gen --delete` would do more: it revokes the refresh token at the provider, and with it what
  /// the agent has got for it.
  func remove(_ entry: ImportEntry) throws(CommandFailure) -> String {
    guard let store = try StoreFile.read(entry.place) else { return "\(entry.place) is gone already" }
    try store.delete()
    return "\(entry.place) is deleted"
  }

  func switchOver(to account: String) -> [String] {
    [
      "`lanyard token \(account)` prints what `oidc-token` printed.",
      "Do not use `oidc-gen --delete`: it revokes the token at the provider. An oidc-agent that runs forgets the "
        + "account by `oidc-add --remove`.",
    ]
  }

  /// As oidc-agent chooses it.
  private static func directory() throws(CommandFailure) -> String {
    if let named = Environment.value("OIDC_CONFIG_DIR") { return named }
    let usual = try StoreFile.home(".config/oidc-agent")
    return access(usual, F_OK) == 0 ? usual : try StoreFile.home(".oidc-agent")
  }

  private func failure(of output: ChildOutput, _ task: String) -> CommandFailure {
    CommandFailure(
      .other, name: "programFailed", "oidc-gen could not \(task). Nothing was changed.", hints: [output.complaint])
  }
}
