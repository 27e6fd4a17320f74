public import AgentModel

/// The account's state: computed here alone, and told here alone.
extension TokenMachine {
  public func state(at now: BootInstant) -> AccountState {
    if secretHasEnded(at: now), health == .ok { return .reauthenticationRequired }
    return AccountState(
      health: health, isIssuedElsewhere: grant.isIssuedElsewhere, needsPerson: !grant.audiences.interactions.isEmpty,
      isOffline: isOffline, isDoubtHarmless: isDoubtHarmless(at: now))
  }

  /// Tells the change of the state since the last call. The shell asks after each event, before it performs the event's
  /// other effects, so that no caller is answered from a state that subscribers do not know.
  public mutating func tell(at now: BootInstant) -> [Effect] {
    let state = state(at: now)
    guard state != toldState else { return [] }
    defer { toldState = state }
    let changed = Effect.stateChanged(state, previous: toldState)
    return state == .reauthenticationRequired ? [changed, .sessionExpired(reason: endReason)] : [changed]
  }

  /// When time alone may change the state; nil if it may not.
  public func stateMayChange(at now: BootInstant) -> BootInstant? {
    if let end = secretEnd, now < end { return end }
    guard health == .unknown, exchange?.isReplay != true else { return nil }
    return grant.doubtHarms(at: now)
  }

  /// Why the person must sign in, while the state says so.
  public var endReason: String {
    if case .reauthenticate(let reason) = health { return reason }
    return holdsSecret ? Self.secretExpired : Self.outcomeUnknown
  }
}
