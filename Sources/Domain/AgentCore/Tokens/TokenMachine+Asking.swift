public import AgentModel

/// The requests of callers, and the renewals before a caller asks.
extension TokenMachine {
  /// A caller wants a token.
  public mutating func wanted(
    by id: WaiterID, key: TokenKey, demand: Demand, at now: BootInstant
  ) -> [Effect] {
    if health == .signedOut { return [.refuse(id, .signedOut)] }
    used(key, at: now)
    if holdsSecret { return secretWanted(by: id, demand, at: now) }
    let cached = grant.audiences[key].liveToken(at: now)
    switch (demand, cached) {
    case (.usable(let minimum), let token?) where token.serves(minimum, at: now):
      // Stale: answer from memory, and begin one exchange without a waiter. One that failed is told as `staleOk`.
      guard now >= token.refreshAt, exchange == nil else { return [.answer(id, serial: token.serial, .cache)] }
      guard grant.refusal(for: key, nil, at: now) == nil else { return [.answer(id, serial: token.serial, .staleOk)] }
      return [.answer(id, serial: token.serial, .cache)] + begin(key, at: now)
    case (.replacing(let fingerprint), let token?) where token.fingerprint != fingerprint:
      return [.answer(id, serial: token.serial, .cache)]
    case (.replacing, .some):
      // A token that replaced a rejected one and is rejected as soon: another exchange would be a loop.
      if let replacedAt = grant.audiences[key].replacedAt, now < replacedAt + Self.breakerWindow {
        return [.refuse(id, .interaction(claims: nil))]
      }
    default: break
    }
    if exchange?.key == key {
      waiters.add(Waiter(id: id, key: key, demand: demand))
      return []
    }
    // The outcome of a replay in flight decides about every audience: nothing is refused before.
    if exchange?.isReplay != true, let refusal = grant.refusal(for: key, demand, at: now) {
      if case .usable = demand, let cached { return [.answer(id, serial: cached.serial, .staleOk)] }
      return [.refuse(id, refusal)]
    }
    waiters.add(Waiter(id: id, key: key, demand: demand))
    return exchange == nil ? begin(key, at: now) : []  // I1: the other audience's turn comes after this one
  }

  /// A caller went away. The exchange goes on: a rotated token must not be lost with its caller.
  public mutating func waiterLeft(_ id: WaiterID) { waiters.remove(id) }

  /// A caller gives up waiting for the provider; it has left its wait. The exchange goes on. A token that still lives
  /// serves it as after a failed exchange.
  public func gaveUp(_ id: WaiterID, key: TokenKey, demand: Demand, at now: BootInstant) -> [Effect] {
    guard takesTokenOfBefore(demand), let token = grant.audiences[key].liveToken(at: now) else {
      return [.refuse(id, .noAnswer(.stillWaiting))]
    }
    return [.answer(id, serial: token.serial, .staleOk)]
  }

  // MARK: renewal of what is in use

  /// A caller was answered from memory without coming here.
  public mutating func used(_ key: TokenKey, at now: BootInstant) {
    grant.audiences[key].lastWanted = max(now, grant.audiences[key].lastWanted ?? now)
  }

  /// When to look again whether a token is to be renewed before a caller has to wait for it; nil if there is nothing to
  /// renew. The token may have fallen out of use by then, which is seen then.
  public func nextRenewal(at now: BootInstant) -> BootInstant? {
    guard exchange == nil else { return nil }
    return tokens.keys.compactMap { grant.renewal(of: $0, at: now) }.min()
  }

  /// When it begins to show that the refresh token may be spent: the access token is served until then. The next such
  /// moment is when the rule allows a replay, which `renew` begins.
  public func doubtShows(at now: BootInstant) -> BootInstant? {
    guard health == .unknown else { return nil }
    return [standardToken?.expiresAt, grant.lastReplay(at: now)].compactMap { $0 }.filter { now < $0 }.min()
  }

  /// When the agent asks the provider next by itself, or sends a refresh token in doubt once more; nil if no pause holds
  /// it back.
  public func nextAttempt(at now: BootInstant) -> BootInstant? {
    let replay = health == .unknown ? grant.lastReplay(at: now) : nil
    return [replay, nextAttemptAt].compactMap { $0 }.filter { now < $0 }.max()
  }

  /// Renews what is due and was used lately: one at a time (I1), the longest due first.
  public mutating func renew(at now: BootInstant) -> [Effect] {
    guard exchange == nil else { return [] }
    let due = tokens.compactMap { key, token in
      grant.renewal(of: key, at: now).flatMap { $0 <= now ? (key: key, at: $0, serial: token.serial) : nil }
    }
    for (key, _, _) in due.sorted(by: { ($0.at, $0.serial) < ($1.at, $1.serial) }) {
      if let used = grant.audiences[key].lastWanted, now < used + Self.lately { return begin(key, at: now) }
      grant.audiences[key].token?.renewAt = nil  // left alone until a caller asks
    }
    return []
  }

  // MARK: beginning

  mutating func begin(_ key: TokenKey, at now: BootInstant) -> [Effect] {
    attempts += 1
    let isReplay = grant.exchangeBegins(for: key, at: now)
    let attempt = Attempt(number: attempts, key: key, startedAt: now, isReplay: isReplay)
    exchange = attempt
    return [.exchange(attempt)]
  }

  /// The waiters of the next audience in line, or what holds them back.
  mutating func beginNext(at now: BootInstant) -> [Effect] {
    var effects: [Effect] = []
    while exchange == nil, let (key, demand) = waiters.next {
      if let refusal = grant.refusal(for: key, demand, at: now) {
        effects += refuseWaiters(for: key, refusal, at: now)
      } else {
        effects += begin(key, at: now)
      }
    }
    return effects
  }

  /// A failure spoils nothing that still works: a waiter for a usable token gets the one that has not expired.
  mutating func refuseWaiters(for key: TokenKey, _ refusal: Refusal, at now: BootInstant) -> [Effect] {
    let token = grant.audiences[key].liveToken(at: now)
    return waiters.take(for: key).map { waiter in
      guard takesTokenOfBefore(waiter.demand), let token else { return .refuse(waiter.id, refusal) }
      return .answer(waiter.id, serial: token.serial, .staleOk)
    }
  }

  /// After a failure this demand is met by the token that was there before. So is that of a caller whose secret was
  /// refused by a resource: there is no other, and nothing shows that the provider does not stand by it.
  func takesTokenOfBefore(_ demand: Demand) -> Bool {
    switch demand {
    case .usable: true
    case .replacing: holdsSecret
    case .forced: false
    }
  }
}
