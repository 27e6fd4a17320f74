internal import AgentCore
internal import AgentModel
package import AgentPorts
package import Secrets
internal import Synchronization

/// The grants in memory for the reading thread, and the connections that use them. Filled while the vault is open.
package final class CallerGrantTable: Sendable {
  fileprivate struct User {
    var limits: EffectiveGrant
    /// Tells the connection that it has no grant any more.
    var end: @Sendable () -> Void
  }
  fileprivate struct State {
    /// Nil while the vault is locked: a connection keeps what its grant covers, and a new grant can't be judged.
    var grants: [String: CallerGrant]?
    /// The connections that use a grant, by their ids.
    var users: [UInt64: User] = [:]
    /// The methods that patterns are held against.
    let methods: [GrantableMethod]
  }
  private let state: Mutex<State>
  package let methods: [GrantableMethod]
  private let clock: any AgentClock
  private let time: TimeKeeper
  private let alarm: Alarm
  /// The hash of the secret that the person's own programs find beside the store; nil if the agent trusts them anyway.
  private let ownerHash: [UInt8]?

  package init(
    clock: any AgentClock, time: TimeKeeper, background: BackgroundWork, owner: Secret?, methods: [GrantableMethod]
  ) {
    state = Mutex(State(methods: methods))
    self.methods = methods
    self.clock = clock
    self.time = time
    alarm = Alarm(clock: clock, background: background)
    ownerHash = owner.map { CallerGrant.hash(of: $0) }
  }

  /// Every connection must bring a grant.
  package var isStrict: Bool { ownerHash != nil }

  // MARK: the vault

  package func fill(_ grants: [CallerGrant]) {
    state.withLock { $0.grants = Dictionary(grants.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }) }
    endConnectionsWithoutGrant()
  }

  func close() { state.withLock { $0.grants = nil } }

  package func put(_ grant: CallerGrant) { state.withLock { $0.grants?[grant.name] = grant } }

  /// Removes revoked grants: a connection that uses one of them has none from now on.
  package func remove(_ names: Set<String>) {
    state.withLock { state in
      for name in names { state.grants?[name] = nil }
    }
    endConnectionsWithoutGrant()
  }

  // MARK: opening

  /// The access of a connection that says a grant's secret: narrower than before. Throws if there is no such grant, or
  /// if that can't be told now. `end` is called when it has ended.
  package func open(
    _ secret: Secret, on connection: UInt64, from access: CallerAccess, end: @escaping @Sendable () -> Void
  ) throws(AgentFailure) -> CallerAccess {
    switch access {
    case .refused: throw .caller(.grantRefused)
    case .limited(let limits) where !limits.areOpen(at: clock.boot()): throw .caller(.grantRefused)
    case .trusted, .limited, .unknown: break
    }
    let hash = CallerGrant.hash(of: secret)
    if let ownerHash, equalInConstantTime(hash, ownerHash) {
      // The person's own programs may do everything; a connection that is limited already stays so.
      if case .unknown = access { return .trusted }
      return access
    }
    let limits = try state.withLock { (state) throws(AgentFailure) -> EffectiveGrant in
      guard let grants = state.grants else { throw .locked }
      var found: CallerGrant?
      // Compare with all grants, also after a match: the duration then reveals nothing.
      for grant in grants.values where equalInConstantTime(hash, grant.hash) { found = grant }
      guard let found, var limits = state.limits(of: found, left, at: clock.boot()) else {
        throw .caller(.grantRefused)
      }
      if case .limited(let before) = access {
        // A grant that the connection has already changes nothing.
        if before.grants.contains(found.name) { return before }
        limits = EffectiveGrant(before, and: limits)
      }
      state.users[connection] = User(limits: limits, end: end)
      return limits
    }
    watch()
    return .limited(limits)
  }

  package func connectionEnded(_ connection: UInt64) { state.withLock { $0.users[connection] = nil } }

  /// Nil if it never ends by itself; zero or less if it has.
  private func left(_ grant: CallerGrant) -> Milliseconds? {
    grant.lifetime.map { $0 - time.elapsed(since: grant.createdAt) }
  }

  // MARK: questions

  /// The grants in force, oldest first; with `makers`, only those that they made.
  package func current(madeBy makers: [String]? = nil) -> [CallerGrant] {
    state.withLock { state in
      let names = makers.map { Set(state.descendants(of: $0)) }
      return (state.grants ?? [:]).values
        .filter { names?.contains($0.name) ?? true && state.limits(of: $0, left, at: clock.boot()) != nil }
        .sorted { ($0.createdAt.time, $0.name) < ($1.createdAt.time, $1.name) }
    }
  }

  /// A grant and all that it made, and what those made.
  func family(of name: String) -> Set<String> { state.withLock { Set([name] + $0.descendants(of: [name])) } }

  /// The grants that will never open again.
  package var ended: [CallerGrant] {
    state.withLock { state in
      (state.grants ?? [:]).values.filter { state.limits(of: $0, left, at: clock.boot()) == nil }
    }
  }

  // MARK: time

  /// One alarm for all grants in use, set for the next that ends.
  private func watch() {
    guard let next = nextEnd() else { return }
    alarm.set(next) { [self] in
      endConnectionsWithoutGrant()
      return nextEnd()
    }
  }

  private func nextEnd() -> BootInstant? {
    state.withLock { $0.users.values.compactMap(\.limits.until).min() }
  }

  /// Ends the connections whose grants are gone, or have no time left: also when the wall clock was set forward.
  func endConnectionsWithoutGrant() {
    let now = clock.boot()
    let ended = state.withLock { state -> [User] in
      let ended = state.users.filter { _, user in
        guard user.limits.areOpen(at: now) else { return true }
        guard let grants = state.grants else { return false }
        return !user.limits.line.allSatisfy { grants[$0].map { left($0).map { $0 > .zero } ?? true } ?? false }
      }
      for connection in ended.keys { state.users[connection] = nil }
      return ended.sorted { $0.key < $1.key }.map(\.value)
    }
    for user in ended {
      user.limits.end()
      user.end()
    }
  }
}

extension CallerGrantTable.State {
  /// A grant and those that made it, up to those that a person made.
  private func line(of grant: CallerGrant) -> Set<String> {
    var line: Set<String> = [grant.name]
    var open = grant.makers
    while let next = open.popLast() {
      if line.insert(next).inserted { open += grants?[next]?.makers ?? [] }
    }
    return line
  }

  /// The coverage of a grant within all grants that made it; nil if one of them is gone or has no time left.
  fileprivate func limits(
    of grant: CallerGrant, _ left: (CallerGrant) -> Milliseconds?, at now: BootInstant
  ) -> EffectiveGrant? {
    let line = line(of: grant)
    var permission = grant.permission(among: methods)
    var until: BootInstant?
    for name in line {
      guard let one = grants?[name] else { return nil }
      permission = permission.narrowed(by: one.permission(among: methods))
      guard let left = left(one) else { continue }
      guard left > .zero else { return nil }
      until = min(until ?? now + left, now + left)
    }
    return EffectiveGrant(permission: permission, grants: [grant.name], line: line, until: until)
  }

  fileprivate func descendants(of names: [String]) -> [String] {
    var found: [String] = []
    var open = Set(names)
    while !open.isEmpty {
      let next = (grants ?? [:]).values.filter { !found.contains($0.name) && !open.isDisjoint(with: $0.makers) }
      open = Set(next.map(\.name))
      found += open
    }
    return found
  }
}
