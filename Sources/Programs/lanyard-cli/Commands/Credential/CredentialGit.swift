import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard credential git`: a helper of git (gitcredentials(7), git-credential(1)).
struct CredentialGit: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "git",
    abstract: "A credential helper of git.",
    discussion: """
      git gives the path of a URL only with credential.useHttpPath, which rules for an owner need.

      EXAMPLES:
        git config --global credential.helper '!lanyard credential git'
        git config --global credential.useHttpPath true
        lanyard rule add 'https://github.com/acme/*' work
      """)

  @Argument(help: "What git asks for: get, store or erase.")
  var operation: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    // git calls a helper for operations of later versions as well: silence is the answer to them.
    guard operation == "get" || operation == "erase" else { return }
    let request = try GitCredentialRequest.read()
    guard let address = request.address else { return }
    var agent = try common.connect()
    let found = try ResourceCredential.find(address, user: request.username, named: common.account, via: &agent)
    guard let found else { return }
    if operation == "erase" { return try reject(request, of: found, via: &agent) }
    let usual = try found.usualUsername(for: address, via: &agent)
    try found.token(via: &agent) { (token) throws(CommandFailure) in
      var answer = JSONWriter()
      func line(_ name: String, _ value: String) { answer.text("\(name)=\(value)\n") }
      if request.takesBearer, !token.isSecret {
        line("capability[]", "authtype")
        line("authtype", "Bearer")
        answer.text("credential=")
        answer.text(token)
        answer.text("\n")
        line("ephemeral", "1")
      } else {
        line("username", token.username(asked: request.username, usual: usual))
        answer.text("password=")
        answer.text(token)
        answer.text("\n")
      }
      if let end = token.expiresAt { line("password_expiry_utc", "\(end.seconds)") }
      try answer.answer()
    }
  }

  /// git erases what a server refused. The token is reported only if it is the present one: an old one was replaced
  /// already.
  private func reject(
    _ request: borrowing GitCredentialRequest, of found: ResourceCredential, via agent: inout AgentConnection
  ) throws(CommandFailure) {
    let fingerprint = try found.token(via: &agent) { (token) throws(CommandFailure) in
      token.withBytes { request.hasSecret($0) } ? token.fingerprint : nil
    }
    guard let fingerprint else { return }
    try agent.perform("token.reject") { writer in
      writer.member("account", found.account)
      writer.member("fingerprint", fingerprint)
    }
  }
}

/// What git asks for: lines of `key=value`, up to a blank one.
struct GitCredentialRequest: ~Copyable {
  private var values: [String: String] = [:]
  private var capabilities: Set<String> = []
  private var challenges: [String] = []
  /// The password or the credential, which only `erase` is given.
  private var secret: SecretInput?

  static func read() throws(CommandFailure) -> GitCredentialRequest {
    var request = GitCredentialRequest()
    let input = try SecretInput.contents(of: "-")
    input.withBytes { bytes in
      for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
        guard !line.isEmpty else { return }
        guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { continue }
        let (key, value) = (line[..<equals], line[(equals + 1)...])
        if key.elementsEqual("password".utf8) || key.elementsEqual("credential".utf8) {
          request.secret = SecretInput(copying: value)
          continue
        }
        let text = String(decoding: value, as: UTF8.self)
        switch String(decoding: key, as: UTF8.self) {
        // An empty value takes back what was listed before it.
        case "capability[]": if text.isEmpty { request.capabilities = [] } else { request.capabilities.insert(text) }
        case "wwwauth[]": if text.isEmpty { request.challenges = [] } else { request.challenges.append(text) }
        case let key: request.values[key] = text
        }
      }
    }
    return request
  }

  /// What is asked for; nil without a protocol or a host, and for a host that is none alone: a part of a URL in it would
  /// be read as another part.
  var address: ResourceAddress? {
    if let url = values["url"] { return ResourceAddress(whole: url) }
    guard let scheme = values["protocol"], let host = values["host"] else { return nil }
    return ResourceAddress(scheme: scheme, host: host, path: values["path"] ?? "")
  }

  var username: String? { values["username"].flatMap { $0.isEmpty ? nil : $0 } ?? address?.user }

  /// True if git can send a bearer token and the server has not asked for something else alone.
  var takesBearer: Bool {
    guard capabilities.contains("authtype") else { return false }
    let schemes = challenges.map { $0.prefix { $0 != " " }.lowercased() }
    return schemes.isEmpty || schemes.contains("bearer")
  }

  func hasSecret(_ token: UnsafeRawBufferPointer) -> Bool {
    secret?.withBytes { $0.elementsEqual(token) } ?? false
  }
}
