public import AgentModel

/// The machine of an account that holds a secret (docs/secrets.md). The secret is the access token, and the only one:
/// nothing is exchanged. An attempt asks `whoami` whether the provider stands by the secret, so that single flight, pauses
/// and health are those of an exchange.
///
/// - A refresh, or a resource that refuses the secret, asks at most once in `recheckSecret`, over all callers.
/// - A failed question changes nothing: the secret is served until its end, or until the provider refuses it. A refresh
///   within `recheckSecret` of it tells the failure again.
extension TokenMachine {
  /// What is known of the secret beside its token.
  struct HeldSecret: Hashable {
    /// When it ends; nil: no end is known.
    var end: BootInstant?
    /// When the provider was last asked about it by a refresh or a refusal.
    var askedAt: BootInstant?
  }

  /// The provider's accounts hold secrets.
  public var holdsSecret: Bool { grant.replay.rule.secrets != nil }

  /// The provider confirms a secret once, when the person adds it: nothing ever asks it again.
  public var isConfirmedOnce: Bool { grant.replay.rule.secrets?.isAsked == false }

  /// Where the secret stands in a request; nil for an account that holds none.
  public var secretPlacement: SecretPlacement? { grant.replay.rule.secrets?.placement }

  /// The user name beside the secret, where the account has none of its own; nil if its provider knows none.
  public var usualUsername: String? { grant.replay.rule.secrets?.username }

  /// When the secret ends.
  public var secretEnd: BootInstant? { heldSecret?.end }

  /// No provider is asked about a secret more often than this (the contract's minute).
  public static let recheckSecret = Milliseconds.seconds(60)

  /// The secret was read, or the provider's time was set: it ends then. Nil: no end is known.
  public mutating func holdSecret(until end: BootInstant?) {
    var held = heldSecret ?? HeldSecret()
    held.end = end
    heldSecret = held
  }

  /// The end that the person told of the secret has come.
  public func secretHasEnded(at now: BootInstant) -> Bool { secretEnd.map { $0 <= now } ?? false }

  /// The secret has ended by the provider's time of now: it is served no more. Time may be set back, and then it is held
  /// again.
  public mutating func retireSecret() { grant.audiences.retireToken(of: .standard) }

  /// The secret ended while the provider was asked about it: its callers are told so, and the health stays, since the
  /// provider refused nothing.
  public mutating func secretEnded(attempt number: UInt64) -> [Effect] {
    guard let attempt = exchange, attempt.number == number else { return [] }  // I3
    exchange = nil
    retireSecret()
    return waiters.take().map { .refuse($0.id, .reauthenticate(reason: Self.secretExpired)) }
  }

  /// A caller wants the secret, or wants to know whether the provider still stands by it.
  mutating func secretWanted(by id: WaiterID, _ demand: Demand, at now: BootInstant) -> [Effect] {
    if secretHasEnded(at: now) { return [.refuse(id, .reauthenticate(reason: Self.secretExpired))] }
    let token = grant.audiences[.standard].liveToken(at: now)
    if let token, !isDoubted(token, by: demand, at: now) {
      return [.answer(id, serial: token.serial, .cache)]
    }
    if exchange == nil, let refusal = grant.refusal(for: .standard, demand, at: now) {
      guard let token, takesTokenOfBefore(demand) else { return [.refuse(id, refusal)] }
      return [.answer(id, serial: token.serial, .staleOk)]
    }
    waiters.add(Waiter(id: id, key: .standard, demand: demand))
    guard exchange == nil else { return [] }
    var held = heldSecret ?? HeldSecret()
    held.askedAt = now
    heldSecret = held
    return begin(.standard, at: now)
  }

  /// The provider has to be asked before this demand is met.
  private func isDoubted(_ token: TokenFacts, by demand: Demand, at now: BootInstant) -> Bool {
    guard grant.replay.rule.secrets?.isAsked == true else { return false }
    switch demand {
    case .usable: return false
    case .replacing(let fingerprint) where fingerprint != token.fingerprint: return false
    case .replacing: return exchange != nil || mayAskAboutSecret(at: now)
    // A question that failed is no answer to the next refresh.
    case .forced: return exchange != nil || mayAskAboutSecret(at: now) || lastFailure != nil || health != .ok
    }
  }

  private func mayAskAboutSecret(at now: BootInstant) -> Bool {
    heldSecret?.askedAt.map { now >= $0 + Self.recheckSecret } ?? true
  }

  /// The next refresh asks at once: what kept the last question from its answer is over.
  mutating func forgetQuestion() { heldSecret?.askedAt = nil }
}
