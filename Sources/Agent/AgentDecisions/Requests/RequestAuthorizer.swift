internal import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentPermissions
internal import AgentPorts
package import AgentRecords
internal import AgentSessions
package import AgentStore
package import Secrets
internal import Synchronization

/// What a caller asks of `request.authorize`.
package struct RequestToAuthorize: Sendable {
  var account: AccountID
  /// `WebSocketMethod.name` for a WebSocket.
  var method: String
  var hasBody: Bool
  var url: String
  /// Only these origins count, in normal form; nil: all of the provider's.
  var origins: Set<String>?
  /// Whose tokens an answer must not repeat, beside the account's own; nil: those of all that the limits cover.
  var reach: Set<AccountID>?
  /// The caller's own limits, and those of the grant that it named.
  var limits: RequestLimits
  var token: TokenKey
  /// The fingerprint of the token that the server refused.
  var rejected: String?
  var nonce: String?
  /// The server refused the last sending for want of its nonce.
  var wantsNonce: Bool
  /// The person may be asked for a confirmation.
  var mayPrompt: Bool

  package init(
    account: AccountID, method: String, hasBody: Bool, url: String, origins: Set<String>?, reach: Set<AccountID>?,
    limits: RequestLimits, token: TokenKey, rejected: String?, nonce: String?, wantsNonce: Bool = false,
    mayPrompt: Bool
  ) {
    self.account = account
    self.method = method
    self.hasBody = hasBody
    self.url = url
    self.origins = origins
    self.reach = reach
    self.limits = limits
    self.token = token
    self.rejected = rejected
    self.nonce = nonce
    self.wantsNonce = wantsNonce
    self.mayPrompt = mayPrompt
  }
}

/// The token for one request.
package struct AuthorizedRequest: Sendable {
  package var decision: RecordedDecision?
  /// Of the account, as it was when the last check passed.
  package var provider: Provider
  package var accessToken: Secret
  /// Other tokens that an answer must not repeat, parted by spaces; nil if there are none, and for a limited caller.
  package var otherTokens: Secret?
  package var tokenType: String
  /// Where a secret stands; nil for a token.
  package var placement: SecretPlacement?
  package var proof: Secret?
  package var fingerprint: String
  package var expiresAt: Timestamp
}

/// Decides about requests that callers send by themselves, and gives the tokens for them (docs/callers.md, One request
/// at a time).
package final class RequestAuthorizer: Sendable {
  private let given = Mutex(GivenTokens())
  private let decisions: PolicyDecisionPoint
  private let prompts: RequestPrompts
  private let grants: CallerGrantTable

  package init(decisions: PolicyDecisionPoint, prompts: RequestPrompts, grants: CallerGrantTable) {
    self.decisions = decisions
    self.prompts = prompts
    self.grants = grants
  }

  /// Less than this is left of no token that is given: the request has yet to be sent.
  private static let minimumLifetime = Milliseconds.seconds(10)
  /// Each further try is after a change of the account, the policy or the person's step-ups.
  private static let mostTries = 10

  package func authorize(_ wanted: RequestToAuthorize) async throws(AgentFailure) -> AuthorizedRequest {
    var (question, key, provider) = try await recordingRefusal(of: wanted) { () async throws(AgentFailure) in
      try await cover(wanted)
    }
    let retaken = given.withLock { given in
      given.retakes(
        question.same, rejected: wanted.rejected, wantsNonce: wanted.wantsNonce, at: decisions.clock.boot())
    }
    guard let retaken else { return try await authorized(question, key, provider, wanted) }
    question.rights = retaken.rights
    do throws(AgentFailure) {
      return try await authorized(question, key, provider, wanted, isRepeat: true)
    } catch {
      given.withLock { $0.failed(retaken) }
      throw error
    }
  }

  private func authorized(
    _ question: RequestQuestion, _ key: TokenKey, _ provider: Provider, _ wanted: RequestToAuthorize,
    isRepeat: Bool = false
  ) async throws(AgentFailure) -> AuthorizedRequest {
    var (question, provider) = (question, provider)
    var permit = try await permit(question, wanted)
    let account = decisions.accounts.account(wanted.account)
    var authorized = try await token(key, of: provider, for: question, wanted, account)
    for _ in 0..<Self.mostTries {
      // A grant that has ended takes no further use of a budget.
      try await recordingRefusal(of: wanted) { () async throws(AgentFailure) in try requireLive(wanted.limits) }
      if try await decisions.holds(permit, for: question) {
        // The grant may have ended, and the provider's origins and the sign-in may have changed, too.
        provider = try await recordingRefusal(of: wanted) { () async throws(AgentFailure) in
          let now = try await decisions.route(of: account)
          guard now.origins.contains(question.url.origin) else { throw .originNotAllowed(wanted.account) }
          try requireCovers(question.url, wanted.limits)
          try requireLive(wanted.limits)
          return now.provider
        }
        // A refused token is not the end of it, but that of a repeat is.
        if !isRepeat {
          given.withLock { given in
            given.gave(
              authorized.fingerprint, isBound: authorized.proof != nil, for: question.same, permit.rights,
              at: decisions.clock.boot())
          }
        }
        authorized.provider = provider
        authorized.decision = permit.decision
        authorized.otherTokens = otherTokens(than: authorized, for: wanted, account)
        return authorized
      }
      // It is the same request still.
      question.rights = permit.rights
      permit = try await self.permit(question, wanted)
    }
    throw .overloaded("decisions about an account that keeps changing")
  }

  /// What the policy is to be asked, the token that the request wants, and the provider of the account.
  ///
  /// - Throws: if the grant or the provider's origins do not cover the request.
  private func cover(_ wanted: RequestToAuthorize) async throws(AgentFailure) -> (RequestQuestion, TokenKey, Provider) {
    let permission = wanted.limits.permission
    try requireLive(wanted.limits)
    // The answer has a token, so that a grant for `request.*` alone is not enough.
    guard wanted.limits.own?.permission.givesTokens ?? true else { throw .caller(.notCovered) }
    guard permission?.accounts.contains(wanted.account) ?? true else { throw .caller(.notCovered) }
    guard let key = permission.map({ $0.token(wanted.token) }) ?? wanted.token else { throw .caller(.notCovered) }
    let account = decisions.accounts.account(wanted.account)
    let route = try await decisions.route(of: account)
    let url: HTTPURL
    do throws(RequestTarget.Refusal) {
      url = try RequestTarget(
        wanted.url, allowedOrigins: wanted.origins.map { route.origins.intersection($0) } ?? route.origins,
        names: route.names
      ).url
    } catch {
      throw error.failure(of: wanted.account, at: "/url")
    }
    guard permission?.covers(origin: url.origin) ?? true else { throw .caller(.notCovered) }
    guard RequestMachine.canAuthorize(wanted.method) else {
      throw .invalidParameter("/method", expected: RequestMachine.expectedToAuthorize)
    }
    let question = RequestQuestion(
      account: wanted.account, provider: route.provider.configuration.name, method: wanted.method,
      hasBody: wanted.hasBody, url: url, event: .requestAuthorize, caller: wanted.limits.caller,
      waitSeconds: decisions.patience(with: route.provider.configuration.name))
    return (question, key, route.provider)
  }

  /// Writes a refusal that no decision tells of to the audit log. One that can't be written is a refusal all the same.
  private func recordingRefusal<Result>(
    of wanted: RequestToAuthorize, _ check: () async throws(AgentFailure) -> Result
  ) async throws(AgentFailure) -> Result {
    do throws(AgentFailure) {
      return try await check()
    } catch {
      if let outcome = error.requestRefusal { try? await record(outcome, wanted) }
      throw error
    }
  }

  private func record(_ outcome: String, _ wanted: RequestToAuthorize) async throws(AgentFailure) {
    let caller = wanted.limits.caller
    var facts = HTTPURL(wanted.url).map { [AuditEntry.Fact.origin($0.origin)] } ?? []
    facts.append(.method(wanted.method))
    facts += caller.facts
    var entry = AuditEntry(
      at: decisions.clock.wall(), event: .requestAuthorize, outcome: outcome, account: wanted.account,
      client: Caller.client, facts: facts)
    entry.isBatched = true
    _ = try await decisions.audit.record([entry], offering: [nil]) { _ in true }
  }

  /// Decides; has the request wait for a person where a capability wants that, and asks the person where nothing but their
  /// confirmation is missing.
  private func permit(
    _ question: RequestQuestion, _ wanted: RequestToAuthorize
  ) async throws(AgentFailure) -> RequestPermit {
    var question = question
    for _ in 0..<Self.mostTries {
      var verdict: RequestVerdict
      (verdict, question) = try await decisions.approved(question, prompting: wanted.mayPrompt ? prompts : nil)
      if wanted.mayPrompt, !verdict.unconfirmed(isRead: question.isRead).isEmpty {
        verdict = try await confirmed(question, wanted)
      }
      // The confirmation of one capability does not approve another.
      if case .unapproved = verdict { continue }
      return try verdict.permit(of: question.account, isRead: question.isRead)
    }
    throw .overloaded("decisions about an account that keeps changing")
  }

  private func confirmed(
    _ question: RequestQuestion, _ wanted: RequestToAuthorize
  ) async throws(AgentFailure) -> RequestVerdict {
    try await prompts.inTurn(question.account) { [self] () async throws(AgentFailure) in
      // While this one waited for its turn, the person may have confirmed the same.
      let verdict = try await decisions.decide(question)
      let unconfirmed = verdict.unconfirmed(isRead: question.isRead)
      guard !unconfirmed.isEmpty, case .denied(let told, _) = verdict else { return verdict }
      try requireLive(wanted.limits)
      if let refusal = try await prompts.ask(question, about: unconfirmed) {
        throw .stepUpWanted(told, prompt: refusal)
      }
      try requireLive(wanted.limits)
      return try await decisions.decide(question)
    }
  }

  private func token(
    _ key: TokenKey, of provider: Provider, for question: RequestQuestion, _ wanted: RequestToAuthorize,
    _ account: Account
  ) async throws(AgentFailure) -> AuthorizedRequest {
    let permission = wanted.limits.permission
    let demand =
      wanted.rejected.map { TokenMachine.Demand.replacing(fingerprint: $0) }
      ?? .usable(minimumLifetime: Self.minimumLifetime)
    let answer = try await account.token(key, demand, within: permission?.tokenLimit ?? .none)
    let token = answer.token
    var authorized = AuthorizedRequest(
      provider: provider, accessToken: token.secret, tokenType: token.tokenType, placement: token.placement,
      fingerprint: token.facts.fingerprint,
      expiresAt: answer.expiresAt)
    if token.deviceKey != nil {
      let proof = ProofRequest(
        method: WebSocketMethod.sent(for: question.method), url: question.url,
        fingerprint: token.facts.fingerprint, nonce: wanted.nonce, permission: permission)
      authorized.proof = try await account.proof(for: proof).proof
    }
    return authorized
  }

  private func otherTokens(
    than given: AuthorizedRequest, for wanted: RequestToAuthorize, _ account: Account
  ) -> Secret? {
    guard wanted.limits.own == nil else { return nil }
    let covered = wanted.limits.permission?.accounts
    let reach = wanted.reach.map { reach in covered.map(reach.intersection) ?? reach } ?? covered
    let others = account.dependencies.validTokens.tokens(
      of: reach, and: account.id, isGivenOut: true, at: decisions.clock.boot())
    var text = SecretBuilder()
    for other in others {
      guard !given.accessToken.equals(other), text.count + other.count < Self.mostOtherBytes,
        other.withBytes({ !$0.contains(0x20) })
      else { continue }
      if text.count > 0 { " ".withCString { text.append(UnsafeRawBufferPointer(start: $0, count: 1)) } }
      other.withBytes { text.append($0) }
    }
    return text.count > 0 ? text.finish() : nil
  }

  /// Some hundred tokens.
  private static let mostOtherBytes = 256 << 10

  /// Throws if what a person added for this origin counts no more.
  private func requireCovers(_ url: HTTPURL, _ limits: RequestLimits) throws(AgentFailure) {
    let named = limits.named.flatMap { grants.limits(of: $0.id)?.permission }
    guard [limits.own?.permission, named].allSatisfy({ $0?.covers(origin: url.origin) ?? true }) else {
      throw .caller(.notCovered)
    }
  }

  /// Throws if a grant was revoked or has ended.
  private func requireLive(_ limits: RequestLimits) throws(AgentFailure) {
    let now = decisions.clock.boot()
    if let own = limits.own, !own.areOpen(at: now) { throw .caller(.grantRefused) }
    if let named = limits.named, grants.limits(of: named.id) == nil { throw .caller(.notCovered) }
  }
}

/// The limits under which a request is decided about: the caller's own, and those of a grant that it names.
package struct RequestLimits: Sendable {
  struct Named: Sendable {
    var id: String
    var client: String
    var permission: Permission
  }

  var own: EffectiveGrant?
  /// The client of the caller's narrowest grant.
  var ownClient: String?
  var named: Named?

  /// Nil for a caller that nothing limits.
  var permission: Permission? {
    guard let own else { return named?.permission }
    return named.map { own.permission.narrowed(by: $0.permission) } ?? own.permission
  }

  package var caller: RequestCaller {
    let permission = permission
    var caller = RequestCaller(
      isForAgent: permission?.isForAgent ?? false, scopes: permission?.scopes,
      grant: named?.id ?? own?.grants.last, client: named?.client ?? ownClient)
    caller.addedMethods = permission?.addedMethods
    return caller
  }
}

extension AgentFailure {
  /// The outcome of an audit entry for a refusal that comes before the decision; nil for a failure.
  fileprivate var requestRefusal: String? {
    switch self {
    case .originNotAllowed: "originNotAllowed"
    case .caller: "notPermitted"
    case .invalidParameter: "invalidParams"
    default: nil
    }
  }
}

extension CallerGrantTable {
  /// The limits of a caller alone.
  package func requestLimits(of own: EffectiveGrant?) -> RequestLimits {
    RequestLimits(own: own, ownClient: own?.grants.last.flatMap { client(of: $0) })
  }

  /// The limits of a caller, narrowed by a live grant: by its id or the name of its client. A limited caller names only
  /// its own grants and those that were made under them.
  package func requestLimits(of own: EffectiveGrant?, as grant: String?) throws(AgentFailure) -> RequestLimits {
    var limits = requestLimits(of: own)
    guard let grant else { return limits }
    let named = try liveGrant(grant, of: own)
    let permission = named.permission
    guard !permission.methods.isDisjoint(with: ["request.send", "request.authorize", "token.get"]) else {
      throw .caller(.notCovered)
    }
    limits.named = named
    return limits
  }

  /// A live grant, by its id or the name of its client: one of the caller's own, or one that was made under these.
  func liveGrant(_ grant: String, of own: EffectiveGrant?) throws(AgentFailure) -> RequestLimits.Named {
    var found = current(madeBy: own?.grants)
    if let own { found += current().filter { own.grants.contains($0.name) } }
    let matching =
      found.contains { $0.name == grant } ? found.filter { $0.name == grant } : found.filter { $0.client == grant }
    guard let match = matching.first, let permission = self.limits(of: match.name)?.permission else {
      throw notFound
    }
    guard matching.count == 1 else {
      throw .invalidParameter("/grant", expected: "the id of a grant: several have a client of this name")
    }
    return RequestLimits.Named(id: match.name, client: match.client, permission: permission)
  }
}

extension RequestQuestion {
  fileprivate var same: GivenTokens.Request {
    GivenTokens.Request(grant: caller.grant, account: account, method: method, url: url.text)
  }
}
