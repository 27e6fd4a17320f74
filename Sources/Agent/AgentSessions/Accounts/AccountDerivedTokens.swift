internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import Secrets

/// The exchanged tokens of one account, in memory only, and the exchanges in flight: one for each key, which all its
/// callers share (docs/tokens.md, Exchanged tokens). A part of `Account`, to which all its functions are isolated.
final class AccountDerivedTokens {
  /// The least lifetime of the subject token: that of a token that `token.get` returns.
  private static let subjectLifetime = Milliseconds.seconds(60)

  private var machine = DerivedTokens<DerivedTokenKey>()
  private var tokens: [UInt64: DerivedToken] = [:]
  private var serials: UInt64 = 0
  private let flights = AccountFlights<DerivedTokenKey, UInt64>("token exchanges of one account")
  /// Counts sign-ins and sign-outs: a flight that began before belongs to another session.
  private var session: UInt64 = 0

  subscript(serial: UInt64) -> DerivedToken? { tokens[serial] }

  func wanted(_ key: DerivedTokenKey, at now: BootInstant) -> DerivedTokenStep { machine.wanted(key, at: now) }
  func live(_ key: DerivedTokenKey, at now: BootInstant) -> UInt64? { machine.live(key, at: now) }
  func forgetFailures() { machine.forgetFailures() }

  func key(ofFingerprint fingerprint: String) -> DerivedTokenKey? { machine.key(ofFingerprint: fingerprint) }

  /// The live exchanged token with this fingerprint; nil if there is none.
  func live(
    _ fingerprint: String, within permission: Permission?, of account: isolated Account
  ) throws(AgentFailure) -> DerivedToken? {
    guard let key = key(ofFingerprint: fingerprint), let serial = live(key, at: account.clock.boot()),
      let token = tokens[serial], token.facts.fingerprint == fingerprint, let granted = account.loaded?.grant.scopes
    else { return nil }
    if let permission {
      guard permission.derived(key, granted: granted) == key,
        permission.covers(scopes: token.scopes, details: token.details, type: token.issuedTokenType)
      else { throw .caller(.notCovered) }
    }
    return token
  }

  func reject(_ key: DerivedTokenKey, at now: BootInstant) -> Bool? {
    defer { wipe() }
    return machine.reject(key, at: now)
  }

  /// Wipes the tokens, and answers the callers that wait with `error`.
  func forget(telling error: AgentFailure) {
    session += 1
    machine = DerivedTokens()
    tokens = [:]
    flights.endAll(error)
  }

  private func wipe() {
    let serials = machine.serials
    tokens = tokens.filter { serials.contains($0.key) }
  }

  // MARK: flights

  /// Joins the exchange in flight for this key, or begins one. Returns the serial of the token.
  static func ask(_ key: DerivedTokenKey, of account: isolated Account) async throws(AgentFailure) -> UInt64 {
    let session = account.derived.session
    return try await AccountFlights.ask(key, of: account, at: { $0.derived.flights }) { account in
      await fly(key, session, of: account)
    }
  }

  private static func fly(_ key: DerivedTokenKey, _ session: UInt64, of account: isolated Account) async {
    let result: Result<(ExchangedToken, sentAt: BootInstant), AgentFailure>
    do throws(AgentFailure) {
      result = .success(try await exchange(key, session, of: account))
    } catch {
      result = .failure(error)
    }
    let derived = account.derived
    // The account was signed out, or signed in again: its callers were answered, and the token belongs to no one.
    guard derived.session == session else { return }
    switch result {
    case .success(let (token, sentAt)):
      derived.flights.end(key, derived.keep(token, sentAt: sentAt, for: key, of: account))
    case .failure(let failure): derived.flights.end(key, .failure(failure))
    }
  }

  // MARK: one exchange

  private static func exchange(
    _ key: DerivedTokenKey, _ session: UInt64, of account: isolated Account
  ) async throws(AgentFailure) -> (ExchangedToken, sentAt: BootInstant) {
    var subject = try await account.answer(to: .usable(minimumLifetime: subjectLifetime), for: .standard).token
    var isReplaced = false
    while true {
      let provider = try await account.dependencies.vault.receiver(ofTokensOf: account.id)
      try provider.requireSupport(of: key.details)
      guard account.derived.session == session else { throw .token(.signedOut, account.id) }
      let answer = await account.dependencies.client(of: provider).exchange(subject.credential, for: key)
      let (figures, issuer) = (account.dependencies.environment.figures, provider.configuration.issuer)
      switch answer {
      case .token(let token, let sentAt):
        figures.grantEnded(.tokenExchange, nil, issuer: issuer)
        return (token, sentAt)
      case .subjectRefused where !isReplaced:
        isReplaced = true
        subject = try await account.answer(to: .replacing(fingerprint: subject.facts.fingerprint), for: .standard).token
      case .subjectRefused(let error):
        figures.grantEnded(.tokenExchange, .misconfigured(error), issuer: issuer)
        throw account.derived.failed(key, .misconfigured(error), session, of: account)
      case .failed(let failure):
        figures.grantEnded(.tokenExchange, failure, issuer: issuer)
        throw account.derived.failed(key, failure, session, of: account)
      }
    }
  }

  private func keep(
    _ token: ExchangedToken, sentAt: BootInstant, for key: DerivedTokenKey, of account: isolated Account
  ) -> Result<UInt64, AgentFailure> {
    let now = account.clock.boot()
    let lifetime = token.expiresIn ?? DerivedToken.assumedLifetime
    guard let generation = account.loaded?.grant.generation else { return .failure(.locked) }
    guard now < sentAt + lifetime else {
      return .failure(failed(key, .transient(TokenMachine.noUsableToken, retryAfter: nil), session, of: account))
    }
    serials += 1
    let facts = DerivedTokenFacts(
      serial: serials, lifetime: lifetime, expiresAt: sentAt + lifetime, fingerprint: Fingerprint.of(token.secret))
    tokens[serials] = DerivedToken(
      secret: token.secret, tokenType: token.tokenType,
      deviceKey: token.tokenType == "DPoP" ? account.loaded?.grant.deviceKey : nil,
      issuedTokenType: token.issuedTokenType,
      scopes: .granted(token.scope, orAsked: key.scopes ?? ScopeSet([])), details: token.details,
      resource: key.resource.flatMap { token.isFor($0) ? $0 : nil },
      generation: generation, facts: facts)
    account.dependencies.validTokens.note(
      token.secret, fingerprint: facts.fingerprint, expiresAt: facts.expiresAt, of: account.id, at: now)
    machine.brought(key, facts, at: now)
    wipe()
    return .success(facts.serial)
  }

  /// Remembers the failure, and returns what the callers are told.
  private func failed(
    _ key: DerivedTokenKey, _ failure: ExchangeFailure, _ session: UInt64, of account: isolated Account
  ) -> AgentFailure {
    guard self.session == session else { return .token(.signedOut, account.id) }
    let pause = machine.failed(key, failure, of: account, logging: "token exchange failed")
    return .exchange(failure, retryAfter: pause, account.id)
  }
}

extension AgentFailure {
  /// A failed token exchange, for its caller. Nothing was spent, so that it may be repeated after a lost answer.
  static func exchange(_ failure: ExchangeFailure, retryAfter pause: Milliseconds, _ id: AccountID) -> AgentFailure {
    switch failure {
    case .offline(let failure): .unsent(.token(.offline(failure, retryAfter: pause), id))
    case .unknownOutcome(let reason, _): .request(.lost(reason: reason), id, isRepeatable: true)
    case .untrustedServer(let reason): .token(.untrustedServer(reason), id)
    case .transient, .unexplained: .token(.unavailable(retryAfter: pause), id)
    case .misconfigured(let error): .token(.misconfigured(error), id)
    case .interaction(let claims): .token(.interaction(claims: claims), id)
    case .locked: .token(.locked, id)
    case .reauthenticate(let reason): .token(.misconfigured(reason), id)
    case .store: .token(.store, id)
    }
  }
}
