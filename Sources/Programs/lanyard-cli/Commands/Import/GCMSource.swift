import CommandSupport
import FileRules
import Glibc

/// The stores of Git Credential Manager on Linux: plain files, files of `pass`, and the keyring (`GCMKeyring`). A
/// credential in a file is a secret on the first line, then `service=URL` and `account=NAME`. A refresh token has a service of its own: the path `/refresh_token`
/// (GitLab, Bitbucket), or a host that begins with `refresh_token.` (OAuth by configuration).
struct GCMSource: ImportSource {
  let program = "gcm"
  private let file: String?

  /// Bounds of the walk through a store: `pass` may hold all passwords of a person.
  private static let mostFiles = 4096
  private static let deepest = 12

  init(_ request: ImportRequest) { file = request.file }

  func entries() throws(CommandFailure) -> [ImportEntry] {
    var entries: [ImportEntry] = []
    for path in try paths() { entries.append(try entry(path)) }
    guard file == nil else { return entries.named() }
    for item in try GCMKeyring.items() {
      guard let service = WebOrigin(item.url) else { continue }
      let place = Self.keyring + item.service + "\u{0}" + (item.account ?? "")
      entries.append(
        try entry(of: service, item.account, at: place) { () throws(CommandFailure) in
          try GCMKeyring.secret(of: item)
        })
    }
    return entries.named()
  }

  /// What `ImportEntry.place` of an item in the keyring begins with.
  private static let keyring = "keyring\u{0}"

  private func paths() throws(CommandFailure) -> [String] {
    let roots: [String]
    if let file {
      var information = stat()
      guard stat(file, &information) == 0 else { throw .usage("There is no file \(file).") }
      guard information.st_mode & S_IFMT == S_IFDIR else { return [file] }
      roots = [file]
    } else {
      let plain = try StoreFile.path(in: "GCM_PLAINTEXT_STORE_PATH", orHome: ".gcm/store")
      let pass = try StoreFile.path(in: "PASSWORD_STORE_DIR", orHome: ".password-store")
      // GCM puts its own below `git`; the rest of a person's passwords is not looked at.
      roots = ["\(plain)/git", "\(pass)/git"]
    }
    var found: [String] = []
    for root in roots { try Self.walk(root, depth: 0, into: &found) }
    return found.sorted()
  }

  private static func walk(_ directory: String, depth: Int, into found: inout [String]) throws(CommandFailure) {
    guard depth <= deepest else { return }
    for name in namesInDirectory(directory) where !name.hasPrefix(".") {
      let path = "\(directory)/\(name)"
      var information = stat()
      guard lstat(path, &information) == 0 else { continue }
      if information.st_mode & S_IFMT == S_IFDIR {
        try walk(path, depth: depth + 1, into: &found)
      } else if name.hasSuffix(".credential") || name.hasSuffix(".gpg") {
        guard found.count < mostFiles else {
          throw CommandFailure(
            .other, name: "storeUnreadable", "\(directory) has more than \(mostFiles) files. Nothing was changed.")
        }
        found.append(path)
      }
    }
  }

  private func entry(_ path: String) throws(CommandFailure) -> ImportEntry {
    let isSealed = path.hasSuffix(".gpg")
    // What is no refresh token by its path is not decrypted: each may ask the person for a passphrase.
    if isSealed, path != file, !path.contains("refresh_token") {
      let words = path.split(separator: "/").map(String.init)
      let host = words.count > 2 ? words[words.count - 2] : path
      let user = String((words.last ?? "").dropLast(".gpg".count))
      return Self.lacking(service: "https://\(host)", user: user, at: path)
    }
    let store = try StoreFile.require(path)
    if !isSealed { store.warnOfReaders() }
    let text: HeldBytes
    do throws(CommandFailure) {
      text = isSealed ? try GnuPG.decrypt(store) : store.contents
    } catch {
      // Another one may be for another key.
      var entry = ImportEntry(name: AgentPaths.file(of: AgentPaths.directory(of: path)))
      entry.place = path
      entry.lack = "gpg does not open it"
      entry.advice = error.hints
      return entry
    }
    guard let credential = GCMCredential(text), let service = WebOrigin(credential.service) else {
      throw store.malformed("a secret on the first line, then the lines service=URL and account=NAME")
    }
    return try entry(of: service, credential.account, at: path) { () throws(CommandFailure) in credential.secret }
  }

  /// The entry of a credential. `secret` is called for a refresh token only.
  private func entry(
    of service: WebOrigin, _ account: String?, at place: String, secret: () throws(CommandFailure) -> HeldBytes?
  ) throws(CommandFailure) -> ImportEntry {
    let isPath = service.path == "/refresh_token" || service.path == "/refresh_token/"
    let prefix = "refresh_token."
    guard isPath || service.host.hasPrefix(prefix) else {
      return Self.lacking(service: service.text, user: account, at: place)
    }
    let host = isPath ? service.host : String(service.host.dropFirst(prefix.count))
    var entry = ImportEntry(name: host)
    entry.server = "\(service.scheme)://\(host)"
    entry.user = account
    entry.refreshToken = try secret()
    if entry.refreshToken == nil { entry.lack = "the keyring does not open it" }
    entry.place = place
    try configure(&entry, at: "\(service.scheme)://\(host)", isGeneric: !isPath)
    return entry
  }

  private static func lacking(service: String, user: String?, at path: String) -> ImportEntry {
    var entry = ImportEntry(name: AgentPaths.file(of: service))
    entry.server = service
    entry.user = user
    entry.place = path
    entry.lack = "a password or an access token without a refresh token"
    entry.advice = ["Choose its account: `lanyard rule add \(ErrorMessages.shellWord(service)) ACCOUNT`."]
    return entry
  }

  // MARK: the client

  /// GCM has the client in git's configuration, or built in: then it is not in the store. The scopes of GitLab and
  /// Bitbucket are built in, too.
  private func configure(_ entry: inout ImportEntry, at url: String, isGeneric: Bool) throws(CommandFailure) {
    entry.issuer = url
    entry.advice = [
      "A client that is built into GCM is not in its store: --client-id ID, and --client-secret-file FILE if it has one."
    ]
    let names =
      isGeneric
      ? [("oauthClientId", "oauthClientSecret")]
      : [
        ("gitLabDevClientId", "gitLabDevClientSecret"), ("cloudOAuthClientId", "cloudOAuthClientSecret"),
        ("bitbucketDataCenterOAuthClientId", "bitbucketDataCenterOAuthClientSecret"),
      ]
    if !isGeneric { entry.scopes = url.contains("bitbucket") ? ["repository:write", "account"] : ["write_repository"] }
    for (id, secret) in names {
      guard let client = try Self.setting(id, url) else { continue }
      entry.clientID = client.text(0..<client.count)
      entry.clientSecret = try Self.setting(secret, url)
      entry.advice = []
      break
    }
    guard isGeneric else { return }
    if let scopes = try Self.setting("oauthScopes", url) {
      entry.scopes = scopes.text(0..<scopes.count).split(separator: " ").map(String.init)
    }
    guard let authorization = try Self.setting("oauthAuthorizeEndpoint", url),
      let token = try Self.setting("oauthTokenEndpoint", url)
    else { return }
    let absolute = { (value: HeldBytes) in
      let text = value.text(0..<value.count)
      return text.hasPrefix("/") ? url + text : text
    }
    entry.endpoints = ImportEntry.Endpoints(authorization: absolute(authorization), token: absolute(token))
  }

  /// A value of git's configuration for this URL.
  private static func setting(_ name: String, _ url: String) throws(CommandFailure) -> HeldBytes? {
    guard let git = AgentPaths.program("git") else { return nil }
    let output = try ChildOutput.of(git, ["config", "--get-urlmatch", "credential.\(name)", url])
    guard output.hasSucceeded else { return nil }
    let end = output.stdout.withBytes { $0.firstIndex(of: 0x0A) ?? $0.count }
    return end == 0 ? nil : output.stdout.part(0..<end)
  }

  // MARK: afterwards

  /// GCM removes a credential in the same way.
  func remove(_ entry: ImportEntry) throws(CommandFailure) -> String {
    if entry.place.hasPrefix(Self.keyring) {
      let words = entry.place.split(separator: "\u{0}", omittingEmptySubsequences: false).map(String.init)
      let item = GCMKeyring.Item(service: words[1], account: words[2].isEmpty ? nil : words[2])
      return try GCMKeyring.remove(item, ifIts: entry.refreshToken)
    }
    let isSealed = entry.place.hasSuffix(".gpg")
    guard let store = try StoreFile.read(entry.place) else { return "\(entry.place) is gone already" }
    let text = isSealed ? try GnuPG.decrypt(store) : store.contents
    guard GCMCredential(text)?.secret == entry.refreshToken else {
      throw store.unchanged("the token in it has changed meanwhile")
    }
    try store.delete()
    return "\(entry.place) is deleted"
  }

  func switchOver(to account: String) -> [String] {
    [
      "Let git ask Lanyard first: `git config --global credential.helper '!lanyard credential git'`.",
      "Choose the URLs for which \(account) answers: `lanyard rule add https://HOST \(account)`.",
    ]
  }
}

/// One credential of Git Credential Manager.
struct GCMCredential {
  let secret: HeldBytes
  let service: String
  let account: String?

  /// Nil if the bytes are something else.
  init?(_ contents: HeldBytes) {
    guard let end = contents.withBytes({ $0.firstIndex(of: 0x0A) }), end > 0 else { return nil }
    let isCarriage = contents.withBytes { $0[end - 1] == 0x0D }
    secret = contents.part(0..<(isCarriage ? end - 1 : end))
    var values: [String: String] = [:]
    for line in contents.text(end + 1..<contents.count).split(whereSeparator: \.isNewline) {
      guard let equals = line.firstIndex(of: "=") else { continue }
      values[line[..<equals].lowercased()] = String(line[line.index(after: equals)...])
    }
    guard let service = values["service"], !secret.isEmpty else { return nil }
    self.service = service
    account = values["account"].flatMap { $0.isEmpty ? nil : $0 }
  }
}
