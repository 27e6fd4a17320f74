public import AgentModel

/// What is known of a grant and of its provider: its health, the facts about each audience, the pause after failures,
/// and the request whose answer is lost. It tells what stands against an exchange; `TokenMachine` begins exchanges and
/// answers the callers.
///
/// What failures teach is in `GrantState+Failures.swift`. The invariants are those of `TokenMachine`.
public struct GrantState: Sendable {
  var health: TokenMachine.Health
  public internal(set) var audiences = TokenMachine.Audiences()
  var pause: RetryPause
  var replay: Replay
  /// When the provider was last asked about a grant that it refuses; nil if this process never did.
  var heardAt: BootInstant?
  /// The provider is configured as another client or server than the one that issued the grant: nothing is sent there,
  /// and only the person can change it (docs/tokens.md, Where tokens go).
  var isIssuedElsewhere = false

  /// `now` is when the grant was read from the disk: what was refused before is not asked again at once.
  init(memory: TokenMemory, rule: ProviderConfiguration.RefreshRule, at now: BootInstant?) {
    replay = Replay(rule: rule)
    health = memory.health == .unknown && !replay.lostAnswersCount ? .ok : memory.health
    pause = RetryPause(memory.patience)
    heardAt = now
    for (key, claims) in memory.interactions {
      audiences[key].interaction = TokenMachine.Interaction(claims: claims, heardAt: now)
    }
  }

  // MARK: memory

  /// What must be durable. Pauses of this machine's own making (no way, no disk) are not: a restart may try at once.
  var memory: TokenMemory {
    var memory = TokenMemory(health: health, interactions: audiences.interactions)
    switch pause.patience?.failure {
    case .transient?, .unexplained?: memory.patience = pause.patience
    default: break
    }
    return memory
  }

  /// What must be durable when an exchange for this audience is, before the machine learns of it: what others want of
  /// the person stands.
  public func memory(afterSuccessFor key: TokenKey) -> TokenMemory {
    TokenMemory(health: .ok, interactions: audiences.interactions.filter { $0.key != key })
  }

  // MARK: what stands against an exchange

  /// The refusal of an exchange for this key now; nil if nothing prevents one. Without a demand: for no caller in
  /// particular.
  func refusal(for key: TokenKey, _ demand: TokenMachine.Demand?, at now: BootInstant) -> TokenMachine.Refusal? {
    standing(against: key, demand, at: now) ?? pausing(key, demand, at: now)
  }

  /// The refusal of the callers whose attempt has just failed: what it showed, or the pause of callers.
  func refusalOfWaiters(for key: TokenKey, at now: BootInstant) -> TokenMachine.Refusal? {
    standing(against: key, nil, at: now) ?? pausing(key, .usable(minimumLifetime: .zero), at: now)
  }

  /// The pause after a failure. A look that may be made, and can't be made now, changes nothing of what the provider said.
  private func pausing(
    _ key: TokenKey, _ demand: TokenMachine.Demand?, at now: BootInstant
  ) -> TokenMachine.Refusal? {
    audiences[key].rejectedRequest?.refusal(demand, at: now)
      ?? pause.refusal(at: now, ofACaller: demand != nil).map { health.withheld ?? $0 }
  }

  /// What stands against an exchange whatever time passes, unless this demand may look again.
  private func standing(
    against key: TokenKey, _ demand: TokenMachine.Demand?, at now: BootInstant
  ) -> TokenMachine.Refusal? {
    switch health {
    case .signedOut: return .signedOut
    case _ where isIssuedElsewhere: return standingElsewhere(at: now)
    case .reauthenticate(let reason):
      let isRevocable = Self.revocableReasons.contains(reason)
      let pause = Self.pauseWhenAsked[reason]
      if !isRevocable || !mayAskAgain(demand, since: heardAt, whenForced: recheckWhenForced, whenAsked: pause, at: now)
      {
        return .reauthenticate(reason: reason)
      }
    case .unknown where !mayReplay(at: now):  // I4
      if let replayAt = lastReplay(at: now) {
        let isUnclear = replay.lost?.hasUnclearAnswer == true
        return .noAnswer(isUnclear ? .unclear(retryAfter: replayAt - now) : .inDoubt(retryAfter: replayAt - now))
      }
      return .reauthenticate(reason: TokenMachine.outcomeUnknown)
    case .locked:
      if !mayAskAgain(demand, since: heardAt, whenAsked: TokenMachine.recheckWhenAsked, at: now) { return .locked }
    case .misconfigured(let error):
      if !mayAskAgain(
        demand, since: heardAt, whenForced: holdsSecret ? recheckWhenForced : TokenMachine.recheckConfiguration,
        whenAsked: TokenMachine.recheckWhenAsked, at: now)
      {
        return .misconfigured(error)
      }
    case .ok, .unknown: break
    }
    if let interaction = audiences[key].interaction, !mayAskAgain(demand, since: interaction.heardAt, at: now) {
      return .interaction(claims: interaction.claims)
    }
    return nil
  }

  /// Nothing of the grant is sent to another client or server, and what the provider said of it stands.
  private func standingElsewhere(at now: BootInstant) -> TokenMachine.Refusal {
    if case .reauthenticate(let reason) = health { return .reauthenticate(reason: reason) }
    if health == .unknown, !isDoubtHarmless(at: now) { return .reauthenticate(reason: TokenMachine.outcomeUnknown) }
    return health.withheld ?? .interaction(claims: nil)
  }

  /// Something stands against this key that time alone does not end.
  private func isRefused(_ key: TokenKey, at now: BootInstant) -> Bool {
    if isIssuedElsewhere || audiences[key].interaction != nil { return true }
    return switch health {
    case .ok: false
    case .unknown: !mayReplay(at: now)
    case .reauthenticate, .locked, .misconfigured, .signedOut: true
    }
  }

  private var holdsSecret: Bool { replay.rule.secrets != nil }

  /// The pause after which a caller that forces an exchange may reach a provider that refused the grant.
  private var recheckWhenForced: Milliseconds {
    holdsSecret ? TokenMachine.recheckSecret : TokenMachine.recheckWhenForced
  }

  /// The rest of the minute in which no other question about a secret follows this one; zero for other grants.
  func restOfMinute(after attempt: TokenMachine.Attempt, at now: BootInstant) -> Milliseconds {
    holdsSecret ? max(.zero, attempt.startedAt + TokenMachine.recheckSecret - now) : .zero
  }

  /// - Parameters:
  ///   - whenForced: the pause after which a caller that forces an exchange may reach the provider.
  ///   - whenAsked: the same for one that forces nothing; nil: it never may.
  private func mayAskAgain(
    _ demand: TokenMachine.Demand?, since heardAt: BootInstant?,
    whenForced: Milliseconds = TokenMachine.recheckWhenForced, whenAsked: Milliseconds? = nil, at now: BootInstant
  ) -> Bool {
    guard let heardAt, replay.lost == nil else { return false }  // I4
    switch demand {
    case .forced: return now >= heardAt + whenForced
    case .usable: return whenAsked.map { now >= heardAt + $0 } ?? false
    case .replacing, nil: return false
    }
  }

  /// When the token of this key is renewed without being asked for; nil if it is not.
  func renewal(of key: TokenKey, at now: BootInstant) -> BootInstant? {
    guard let renewAt = audiences[key].token?.renewAt, !isRefused(key, at: now) else { return nil }
    return [renewAt, pause.patience?.until, audiences[key].rejectedRequest?.until].compactMap { $0 }.max()
  }

  // MARK: a lost answer

  /// May the refresh token of the lost request be sent once more now?
  func mayReplay(at now: BootInstant) -> Bool {
    !isIssuedElsewhere && replay.isAllowed(at: now, lastExpiry: audiences.lastExpiry(at: now))
  }

  /// When `replayLast` allows the replay that it does not allow yet.
  func lastReplay(at now: BootInstant) -> BootInstant? {
    isIssuedElsewhere ? nil : replay.allowedLater(lastExpiry: audiences.lastExpiry(at: now))
  }

  /// The outcome of a request is unknown, and the one replay that the rule allows is still to come.
  func mayRecover(at now: BootInstant) -> Bool { mayReplay(at: now) || lastReplay(at: now) != nil }

  /// The replay in flight is sent only once the provider answers something else.
  public func replayWaitsForAnAnswer(at now: BootInstant) -> Bool { replay.waitsForAnAnswer(at: now) }

  /// The outcome of a request is unknown, and it costs the person nothing yet: a replay may still repair it, or a token
  /// is served until it expires.
  func isDoubtHarmless(at now: BootInstant) -> Bool { mayRecover(at: now) || audiences.lastExpiry(at: now) != nil }

  /// When time alone ends what `isDoubtHarmless` tells of, or a part of it; nil if time does not end it.
  func doubtHarms(at now: BootInstant) -> BootInstant? {
    mayRecover(at: now) ? recoveryEnds(at: now) : audiences.lastExpiry(at: now)
  }

  /// When time ends the right to the replay that `mayRecover` tells of; nil if time does not end it.
  private func recoveryEnds(at now: BootInstant) -> BootInstant? {
    guard mayRecover(at: now), let end = replay.graceEnd, now < end, lastReplay(at: end) == nil,
      !mayReplay(at: end)
    else { return nil }
    return end
  }

  /// The request of this attempt may leave now: a provider forgives a second use only for a while.
  mutating func maySend(_ attempt: TokenMachine.Attempt, at now: BootInstant) -> Bool {
    guard attempt.isReplay, !replay.isForgiven(at: now, lastExpiry: audiences.lastExpiry(at: now)) else { return true }
    replay.giveBack()  // it was not sent, and `replayLast` may allow it later
    return false
  }

  // MARK: changes

  mutating func set(_ new: TokenMachine.Health) -> [TokenMachine.Effect] {
    guard new != health else { return [] }
    health = new
    guard !new.servesTokens else { return [.persistHealth] }
    audiences.retireTokens()
    return [.withdrawTokens, .persistHealth]
  }

  /// An exchange for this audience begins. True if it is a replay.
  mutating func exchangeBegins(for key: TokenKey, at now: BootInstant) -> Bool {
    let isReplay = health == .unknown
    if isReplay { replay.spend() }
    switch health {
    case .reauthenticate, .locked, .misconfigured: heardAt = now
    case .ok, .unknown, .signedOut: break
    }
    audiences[key].interaction?.heardAt = now
    return isReplay
  }

  mutating func forgetFailures() {
    pause.forget()
    replay.forget()
  }

  /// The reasons for which the refresh token is still there and may be tried again.
  private static let revocableReasons: Set<String> = [
    "refused", TokenMachine.unexplainedRefusal, TokenMachine.secretRefused, TokenMachine.identityMismatch,
    TokenMachine.installationUnknown, TokenMachine.installationSuspended,
  ]

  /// The reasons that may pass without a word to the agent: a caller that only asks for a token finds out after this time.
  private static let pauseWhenAsked = [
    TokenMachine.unexplainedRefusal: TokenMachine.recheckUnexplained,
    TokenMachine.installationUnknown: TokenMachine.recheckWhenAsked,
    TokenMachine.installationSuspended: TokenMachine.recheckWhenAsked,
  ]
}
