import AgentCore
import AgentModel
import CommandSupport
import JSONRPC
import ProxyCore
import Secrets
import StreamingHTTP
import Synchronization

/// Asks the agent about each request (docs/proxy.md, Decisions).
final class Authorizer: Sendable {
  /// The agent's answer: the token for one request.
  struct Authorization: Sendable {
    let account: String
    let token: Secret
    /// Where it stands in the request.
    let placement: SecretPlacement
    /// The value of the field `DPoP`.
    let proof: WipedBytes?
    let fingerprint: String
    /// How the server is reached and trusted.
    let trust: TrustSettings
    /// Further tokens of the accounts of this proxy that servers still take: no answer that repeats one goes on.
    var others: [Secret] = []
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

  /// Of a parameter of the agent, in bytes.
  private static let longestURL = 2048
  /// How long a program waits for a person who is asked (five minutes at most, or pinentry), and for a refresh.
  private static let patienceSeconds = 420

  init(_ agent: AgentPool, _ scope: ProxyScope) {
    self.agent = agent
    self.scope = scope
  }

  /// The account for a URL. For one that no account serves it is the first: the agent refuses the request and writes that
  /// down.
  func account(for url: HTTPURL) throws(Refusal) -> ProxyScope.Account {
    let fitting = scope.accounts.filter { $0.origins.contains(url) }
    if fitting.isEmpty {
      guard let first = scope.accounts.first else {
        try scope.origins.check(url, isOfGrant: scope.grant != nil)
        throw Refusal(403, "originNotAllowed", "This proxy has no account.")
      }
      return first
    }
    if fitting.count == 1 { return fitting[0] }
    let id: String
    do throws(CommandFailure) {
      id = try agent.call("account.resolve") { writer in
        writer.member("url", url.origin + url.path)
        writer.member("preferred", scope.preferred)
      } result: { found in
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

  /// How a program passes to an origin without a token. Nil for an origin that it does not pass to: then an account has to
  /// serve it.
  ///
  /// - Throws: where the agent refuses it.
  func pass(to origin: HTTPURL) throws(Refusal) -> Passage? {
    guard !scope.origins.contains(origin), scope.passes.basis(of: origin) != nil else { return nil }
    do throws(CommandFailure) {
      let basis = try agent.call("request.pass", params: { self.name(origin, in: &$0) }) { $0["basis"]?.string }
      guard let basis = basis.flatMap(PassedOrigins.Basis.init) else { throw .notUnderstood }
      let trust = try agent.call("agent.status") { (status) throws(CommandFailure) in
        guard let trust = ServerTrust(inStatus: status) else { throw .notUnderstood }
        return trust.settings(for: origin)
      }
      return Passage(isPublic: basis == .any, trust: trust)
    } catch {
      throw error.name == "originNotAllowed"
        ? Refusal(
          403, "originNotAllowed",
          "An account serves \(origin.origin), so it does not pass under *. Nothing was sent.")
        : Refusal(error, scope.grant)
    }
  }

  struct Passage {
    /// Only a public address may be connected to.
    let isPublic: Bool
    let trust: TrustSettings
  }

  /// Writes down what passed. False if the agent could not: what went cannot be taken back.
  func passed(_ origin: HTTPURL, _ relay: BlindRelay) -> Bool {
    let told: Void? = try? agent.call("request.pass") { writer in
      name(origin, in: &writer)
      writer.member("sentBytes", relay.sentBytes)
      writer.member("receivedBytes", relay.receivedBytes)
    } result: { _ in
    }
    return told != nil
  }

  private func name(_ origin: HTTPURL, in writer: inout JSONWriter) {
    writer.member("origin", origin.origin)
    if let grant = scope.grant { writer.member("grant", grant.id) }
    if let option = scope.passOption { writer.member("passOrigins", option.texts) }
  }

  /// - Parameters:
  ///   - refused: for a request that is sent again.
  ///   - end: a descriptor that becomes readable when the program does not want the answer any more: the agent then
  ///     withdraws the request, also from a person who is asked about it.
  func authorize(
    _ request: ForwardedRequest, for account: ProxyScope.Account, after refused: Refused? = nil, endedBy end: Int32
  ) throws(Refusal) -> Authorization {
    try authorize(
      method: request.judgedMethod, hasBody: request.hasBody, request.url, for: account, after: refused, endedBy: end)
  }

  private func authorize(
    method: String, hasBody: Bool = false, _ url: HTTPURL, for account: ProxyScope.Account,
    after refused: Refused? = nil, endedBy end: Int32 = -1
  ) throws(Refusal) -> Authorization {
    let earlier = refused == nil ? rejected.withLock { $0.removeValue(forKey: account.id) } : nil
    do throws(CommandFailure) {
      var authorization = try agent.call(
        "request.authorize", patienceSeconds: Self.patienceSeconds, watch: CallWatch(end: end)
      ) { writer in
        writer.member("account", account.id)
        writer.member("method", method)
        if hasBody {
          writer.key("hasBody")
          writer.bool(true)
        }
        // The query decides nothing: a person who is asked sees it, unless it is longer than a parameter of the agent.
        writer.member("url", url.text.utf8.count <= Self.longestURL ? url.text : url.origin + url.path)
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
        // Of each request: what was changed or enforced meanwhile counts, and pins end by the agent's time.
        writer.key("trust")
        writer.bool(true)
        writer.member("prompt", "pinentry")
        writer.key("timeoutSeconds")
        writer.integer(Self.patienceSeconds)
      } result: { (node) throws(CommandFailure) in
        try Self.authorization(node, account.id, to: url)
      }
      authorization.others += given.adding(authorization.token, authorization.fingerprint)
      return authorization
    } catch {
      if let earlier { reject(earlier, of: account) }
      // Its words name the origins of this proxy.
      try account.origins.contains(url) ? () : scope.origins.check(url, isOfGrant: scope.grant != nil)
      throw Refusal(error, scope.grant)
    }
  }

  /// The next request of this account gets another token.
  func reject(_ fingerprint: String, of account: ProxyScope.Account) {
    rejected.withLock { $0[account.id] = fingerprint }
  }

  private static func authorization(
    _ node: JSONNode, _ account: String, to url: HTTPURL
  ) throws(CommandFailure) -> Authorization {
    guard let token = node["accessToken"], let type = node["tokenType"]?.string,
      let fingerprint = node["fingerprint"]?.string, let trust = ServerTrust(node["trust"])
    else { throw .notUnderstood }
    let secret = Secret(SecretBytes(capacity: token.textCapacity) { token.copyText(into: $0) })
    // RFC 6750 section 2.1 and RFC 9449 section 7.1: the scheme is the type's name. A secret has a place of its own.
    let named = node["placement"].map { SecretPlacement($0) } ?? (type.lowercased() == "dpop" ? .dpop : .bearer)
    guard let placement = named else { throw .notUnderstood }
    let proof = node["proof"].map { proof in
      let bytes = WipedBytes(capacity: proof.textCapacity)
      bytes.append(capacity: proof.textCapacity) { proof.copyText(into: $0) }
      return bytes
    }
    var authorization = Authorization(
      account: account, token: secret, placement: placement, proof: proof, fingerprint: fingerprint,
      trust: trust.settings(for: url))
    if let others = node["otherTokens"] {
      let all = SecretBytes(capacity: others.textCapacity) { others.copyText(into: $0) }
      authorization.others = all.withBytes { bytes in
        bytes.split(separator: 0x20).map { Secret(copying: UnsafeRawBufferPointer(rebasing: $0)) }
      }
    }
    return authorization
  }
}
