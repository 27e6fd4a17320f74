internal import AgentCore
internal import AgentModel
internal import CommandSupport
internal import CurlTransfers
internal import JSONRPC
internal import MCPBridge
internal import StreamingHTTP
internal import Synchronization
internal import Threads

/// What was tried for one request.
struct AuthorizationAttempt {
  /// The token was reported to the agent once.
  var hasRejected = false
  /// Another bridge, or the person, has signed in meanwhile.
  var hasFoundSignIn = false
  var hasTakenNonce = false
}

/// Finds the account of the server, its token, and what to do when the server refuses it.
final class Authorizer: Sendable {
  private enum Known {
    /// Nothing was looked for.
    case nothing
    /// No agent could be asked.
    case noAgent
    /// There was no account when it was looked for last.
    case noAccount
    case account(ServerAccount)
  }

  private struct State {
    var known = Known.nothing
    /// What the server's metadata named when it was asked last.
    var named: (issuer: String, resource: String)?
    var counts = SignInCount()
    /// Scopes that sign-ins asked for.
    var requested: [String] = []
    /// The server's last `DPoP-Nonce` (RFC 9449 §9).
    var nonce: String?
    /// How the server is reached and trusted by requests without a token, as the agent said last.
    var trust: (settings: TrustSettings, askedAt: MonotonicTime)?
  }

  let options: Options
  let link: AgentPool
  /// For requests to the server. Each names how the server is trusted.
  let client = HTTPClient()
  private let state = Mutex(State())
  /// The sign-in whose page is on stderr.
  let shown = Mutex("")

  /// A token that ends while its request is on the way would be refused.
  private static let minimumLifetimeSeconds = 10

  /// The agent is not asked before each request how a server that needs no token is trusted: that would take longer than a
  /// near server's answer. What an agent that was started again says counts after so long.
  private static let trustMilliseconds = 5_000

  init(_ options: Options) {
    self.options = options
    link = AgentPool(mayStart: options.mayStart)
  }

  // MARK: the credential

  /// The credential for a request; nil without an account.
  func credential(for outgoing: Outgoing, _ attempt: inout AuthorizationAttempt) throws(BridgeFailure) -> Credential? {
    guard let account = try account() else { return nil }
    do throws(CommandFailure) {
      return try credential(of: account, for: outgoing.method)
    } catch {
      guard error.name != "accountNotFound" else {
        forgetAccount()
        return nil
      }
      guard Self.needsPerson(error), mayAsk(outgoing, account) else { throw BridgeFailure(error, of: account) }
      guard try SignIn(self, outgoing).again(account, demanded: error, &attempt) else { throw BridgeFailure(error) }
      return try retried(account, outgoing)
    }
  }

  private func retried(_ account: ServerAccount, _ outgoing: Outgoing) throws(BridgeFailure) -> Credential? {
    do throws(CommandFailure) {
      return try credential(of: account, for: outgoing.method)
    } catch {
      throw BridgeFailure(error)
    }
  }

  /// The errors that a sign-in lifts.
  static func needsPerson(_ failure: CommandFailure) -> Bool {
    ["signedOut", "reauthenticationRequired", "interactionRequired", "dataLocked"].contains(failure.name)
  }

  /// A sign-in may be begun: not for a key, which a person replaces.
  private func mayAsk(_ outgoing: Outgoing, _ account: ServerAccount) -> Bool {
    outgoing.isForPerson && account.provider.hasSignIn
  }

  func credential(of account: ServerAccount, for method: String) throws(CommandFailure) -> Credential {
    var credential = try link.call("token.get") { writer in
      writer.member("account", account.id)
      writer.key("minimumLifetimeSeconds")
      writer.integer(Self.minimumLifetimeSeconds)
    } result: { (node) throws(CommandFailure) in
      try Credential(node)
    }
    credential.trust = try trust(of: account.provider)
    guard credential.wantsProof else { return credential }
    let nonce = state.withLock { $0.nonce }
    credential.proof = try link.call("token.proof") { writer in
      writer.member("account", account.id)
      writer.member("method", method)
      writer.member("url", options.url.text)
      writer.member("fingerprint", credential.fingerprint)
      writer.member("nonce", nonce)
    } result: { (node) throws(CommandFailure) in
      try Credential.secret(node["proof"])
    }
    return credential
  }

  /// The agent's word, asked for each token: `--ca-file` and `--proxy` count where it names none.
  private func trust(of provider: ServerProvider) throws(CommandFailure) -> TrustSettings {
    try link.call("provider.get") {
      $0.member("provider", provider.name)
    } result: { (node) throws(CommandFailure) in
      guard let trust = ServerTrust(node["trust"]) else { throw .notUnderstood }
      let own = TrustSettings(authorities: CertificateAuthorities(file: options.authorityFile), proxy: options.proxy)
      return trust.settings(for: options.url, elsewhere: own)
    }
  }

  /// How the server is reached and trusted by a request without a token: the agent's word, too. Where it names none, or none
  /// runs, the options and then the environment of this program count.
  func trust() throws(BridgeFailure) -> TrustSettings {
    var own = TrustSettings(authorities: CertificateAuthorities(environment: Environment.value), proxy: options.proxy)
    if let file = options.authorityFile { own.authorities = CertificateAuthorities(file: file) }
    let (known, last) = state.withLock { ($0.known, $0.trust) }
    do throws(CommandFailure) {
      switch known {
      case .account(let account): return try trust(of: account.provider)
      case .noAgent: return own
      case .nothing, .noAccount: break
      }
      if let last, MonotonicTime.now < last.askedAt + Self.trustMilliseconds { return last.settings }
      let settings = try link.call("agent.status") { _ in
      } result: { (node) throws(CommandFailure) in
        guard let trust = ServerTrust(inStatus: node) else { throw .notUnderstood }
        return trust.settings(for: options.url, elsewhere: own)
      }
      state.withLock { $0.trust = (settings, .now) }
      return settings
    } catch {
      if let last { return last.settings }
      throw BridgeFailure(error)
    }
  }

  // MARK: the account

  /// The account that is used now.
  private func account() throws(BridgeFailure) -> ServerAccount? {
    switch state.withLock({ $0.known }) {
    case .account(let account): return account
    case .noAgent, .noAccount: return nil
    case .nothing: break
    }
    do throws(BridgeFailure) {
      return try lookUp()
    } catch {
      // An open server needs no agent.
      guard error.name == "noAgent" || error.name == "unsafeSocket", options.account == nil else { throw error }
      state.withLock { $0.known = .noAgent }
      return nil
    }
  }

  /// Looks for the account, which may have been signed in meanwhile.
  func lookUp() throws(BridgeFailure) -> ServerAccount? {
    let named = state.withLock { $0.named }
    let found = try AccountSearch(options: options, link: link, named: named).account()
    state.withLock { $0.known = found.map { .account($0) } ?? .noAccount }
    return found
  }

  func forgetAccount() { state.withLock { $0.known = .nothing } }

  /// The server's metadata names these: accounts of another authorization server or resource are not for it any more.
  func metadataNames(issuer: String, resource: String) {
    state.withLock { state in
      state.named = (issuer, resource)
      if case .account(let account) = state.known, !account.provider.isOf(issuer, resource) { state.known = .noAccount }
    }
  }

  // MARK: a refusal

  /// Whether a request that the server refused may be sent again.
  ///
  /// - Throws: what the client gets instead.
  func mayRepeat(
    _ outgoing: Outgoing, after head: ReceivedHead, _ credential: Credential?, _ attempt: inout AuthorizationAttempt
  ) throws(BridgeFailure) -> Bool {
    // Scopes of a challenge come on stderr, into the browser and to the authorization server.
    let values = head.values("www-authenticate").filter { credential?.isRepeated(in: $0) != true }
    let challenges = AuthenticationChallenge.all(in: values)
    guard head.status == 401 else {
      guard ScopeChoice.isInsufficient(challenges), let credential, let account = try account() else { return false }
      guard mayAsk(outgoing, account) else { return false }
      return try SignIn(self, outgoing).stepUp(account, challenges, credential, &attempt)
    }
    if NonceRefusal.isOne(values), credential?.proof != nil, !attempt.hasTakenNonce {
      attempt.hasTakenNonce = true
      return head.field("dpop-nonce") != nil
    }
    guard let credential, let account = try account() else {
      guard outgoing.isForPerson else { return false }
      return try SignIn(self, outgoing).first(challenges, nil, nil, &attempt)
    }
    if !attempt.hasRejected {
      attempt.hasRejected = true
      return try reject(credential, of: account, values, outgoing, &attempt)
    }
    guard mayAsk(outgoing, account) else { return false }
    return try SignIn(self, outgoing).first(challenges, account, credential, &attempt)
  }

  private func reject(
    _ credential: Credential, of account: ServerAccount, _ challenges: [String], _ outgoing: Outgoing,
    _ attempt: inout AuthorizationAttempt
  ) throws(BridgeFailure) -> Bool {
    do throws(CommandFailure) {
      try link.call("token.reject", isRepeatable: false) { writer in
        writer.member("account", account.id)
        writer.member("fingerprint", credential.fingerprint)
        let challenge = challenges.joined(separator: ", ")
        if !challenge.isEmpty, challenge.utf8.count <= 4_096 { writer.member("challenge", challenge) }
      } result: { (_) throws(CommandFailure) in
      }
      // The same key again would get the same answer.
      guard !account.provider.hasSignIn else { return true }
      return try self.credential(of: account, for: outgoing.method).fingerprint != credential.fingerprint
    } catch {
      guard Self.needsPerson(error), mayAsk(outgoing, account) else { throw BridgeFailure(error, of: account) }
      return try SignIn(self, outgoing).again(account, demanded: error, &attempt)
    }
  }

  /// Remembers the nonce of a response (RFC 9449 §8.2).
  func take(nonceOf head: ReceivedHead) {
    guard let nonce = head.field("dpop-nonce"), nonce.utf8.count <= 1_024, nonce.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
    else { return }
    state.withLock { $0.nonce = nonce }
  }

  // MARK: counting

  func mayAsk(for operation: String) -> Bool { state.withLock { $0.counts.mayAsk(for: operation) } }

  func asked(for operation: String, _ scopes: [String]) {
    state.withLock { state in
      state.counts.asked(for: operation)
      state.requested = ScopeChoice.union(state.requested, scopes)
    }
  }

  /// The server was content with the credential.
  func succeeded(_ operation: String) { state.withLock { $0.counts.succeeded(operation) } }

  /// Scopes that earlier sign-ins asked for.
  var requestedScopes: [String] { state.withLock { $0.requested } }
}
