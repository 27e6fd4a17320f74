import AgentCore
import AgentModel
import CommandSupport
import JSONRPC
import ProxyCore
import StreamingHTTP
import Synchronization

/// Asks the agent about each request (docs/proxy.md, Decisions).
final class Authorizer: Sendable {
  /// The agent's answer: the token for one request.
  struct Authorization: Sendable {
    let account: String
    /// The value of the field `Authorization`.
    let credentials: WipedBytes
    let token: WipedBytes
    /// The value of the field `DPoP`.
    let proof: WipedBytes?
    let fingerprint: String
    /// How the server is reached and trusted.
    var trust = TrustSettings()
    /// Further tokens of the accounts of this proxy that servers still take: no answer that repeats one goes on.
    var others: [WipedBytes] = []
  }

  /// What the server said to the token of an earlier sending.
  struct Refused: Sendable {
    var fingerprint: String?
    var challenge: String?
    var nonce: String?
  }

  private let agent: AgentPool
  private let scope: ProxyScope
  /// By account: the token that a server refused and that was not replaced then.
  private let rejected = Mutex<[String: String]>([:])
  private let given = GivenTokens()

  /// How long a program waits for a person who is asked, and for a refresh.
  private static let patienceSeconds = 120

  init(_ agent: AgentPool, _ scope: ProxyScope) {
    self.agent = agent
    self.scope = scope
  }

  /// The account for a URL. For one that no account serves it is the first: the agent refuses the request and writes that
  /// down.
  func account(for url: HTTPURL) throws(Refusal) -> ProxyScope.Account {
    let fitting = scope.accounts.filter { $0.origins.contains(url) }
    if fitting.isEmpty { return scope.accounts[0] }
    if fitting.count == 1 { return fitting[0] }
    let id: String
    do throws(CommandFailure) {
      id = try agent.call("account.resolve", params: { $0.member("url", url.origin + url.path) }) { found in
        found["account"]?.string ?? ""
      }
    } catch {
      throw Refusal(error, ProxyScope.Grant?.none)
    }
    if let account = fitting.first(where: { $0.id == id }) { return account }
    // Rules are for https alone.
    let byRule = url.scheme == .https ? ", or by `lanyard rule add \(url.origin) ACCOUNT`" : ""
    throw Refusal(
      403, "accountAmbiguous",
      "Several accounts of this proxy fit \(url.origin), and none was chosen. Name one with --account\(byRule).")
  }

  /// Has the agent refuse a tunnel to an origin that no account serves, so that the refusal is in the audit log.
  ///
  /// - Throws: always, for such an origin.
  func checkTunnel(to origin: HTTPURL) throws(Refusal) {
    guard !scope.origins.contains(origin) else { return }
    _ = try authorize(method: "CONNECT", origin, for: account(for: origin))
  }

  /// - Parameter refused: for a request that is sent again.
  func authorize(
    _ request: ForwardedRequest, for account: ProxyScope.Account, after refused: Refused? = nil
  ) throws(Refusal) -> Authorization {
    try authorize(method: request.method, request.url, for: account, after: refused)
  }

  private func authorize(
    method: String, _ url: HTTPURL, for account: ProxyScope.Account, after refused: Refused? = nil
  ) throws(Refusal) -> Authorization {
    let earlier = refused == nil ? rejected.withLock { $0.removeValue(forKey: account.id) } : nil
    do throws(CommandFailure) {
      var authorization = try agent.call("request.authorize", patienceSeconds: Self.patienceSeconds) { writer in
        writer.member("account", account.id)
        writer.member("method", method)
        // The query does not count, and may be longer than a parameter of the agent.
        writer.member("url", url.origin + url.path)
        writer.key("origins")
        writer.beginArray()
        for origin in account.origins.all { writer.string(origin) }
        writer.endArray()
        // The accounts of a grant are in reach of its programs, also where the proxy serves one.
        if scope.isAccountNamed, scope.grant == nil {
          writer.key("accounts")
          writer.beginArray()
          for account in scope.accounts { writer.string(account.id) }
          writer.endArray()
        }
        if let grant = scope.grant { writer.member("grant", grant.id) }
        if let fingerprint = refused?.fingerprint ?? earlier { writer.member("rejected", fingerprint) }
        if let challenge = refused?.challenge { writer.member("challenge", challenge) }
        if let nonce = refused?.nonce { writer.member("nonce", nonce) }
        writer.member("prompt", "pinentry")
        writer.key("timeoutSeconds")
        writer.integer(Self.patienceSeconds)
      } result: { (node) throws(CommandFailure) in
        try Self.authorization(node, account.id)
      }
      authorization.others += given.adding(authorization.token, authorization.fingerprint)
      authorization.trust = try trust(for: url, account.allowance.provider)
      return authorization
    } catch {
      if let earlier { reject(earlier, of: account) }
      // Its words name the origins of this proxy.
      try account.origins.contains(url) ? () : scope.origins.check(url)
      throw Refusal(error, scope.grant)
    }
  }

  /// Asked for each request: what was changed or enforced meanwhile counts, and pins end by the agent's time.
  private func trust(for url: HTTPURL, _ provider: String) throws(CommandFailure) -> TrustSettings {
    try agent.call("provider.get", params: { $0.member("provider", provider) }) { (node) throws(CommandFailure) in
      guard let trust = ServerTrust(node["trust"]) else { throw .notUnderstood }
      return trust.settings(for: url)
    }
  }

  /// The next request of this account gets another token.
  func reject(_ fingerprint: String, of account: ProxyScope.Account) {
    rejected.withLock { $0[account.id] = fingerprint }
  }

  private static func authorization(_ node: JSONNode, _ account: String) throws(CommandFailure) -> Authorization {
    guard let token = node["accessToken"], let type = node["tokenType"]?.string,
      let fingerprint = node["fingerprint"]?.string
    else { throw .notUnderstood }
    let bytes = WipedBytes(capacity: token.textCapacity)
    bytes.append(capacity: token.textCapacity) { token.copyText(into: $0) }
    let credentials = WipedBytes(capacity: token.textCapacity + 16)
    // RFC 6750 section 2.1 and RFC 9449 section 7.1: the scheme is the type's name.
    credentials.append(type.lowercased() == "dpop" ? "DPoP " : "Bearer ")
    bytes.withBytes { credentials.append($0) }
    let proof = node["proof"].map { proof in
      let bytes = WipedBytes(capacity: proof.textCapacity)
      bytes.append(capacity: proof.textCapacity) { proof.copyText(into: $0) }
      return bytes
    }
    var authorization = Authorization(
      account: account, credentials: credentials, token: bytes, proof: proof, fingerprint: fingerprint)
    if let others = node["otherTokens"] {
      let all = WipedBytes(capacity: others.textCapacity)
      all.append(capacity: others.textCapacity) { others.copyText(into: $0) }
      authorization.others = all.withBytes { bytes in
        bytes.split(separator: 0x20).map { WipedBytes(UnsafeRawBufferPointer(rebasing: $0)) }
      }
    }
    return authorization
  }
}
