internal import AgentCore
internal import AgentModel
package import AgentPorts
package import AgentRecords
package import AgentStore
package import Secrets
internal import Synchronization

/// The callers' grants in memory for the reading thread, and the connections that use them. Filled while the vault is
/// open.
package final class CallerGrantTable: Sendable {
  fileprivate struct User {
    var limits: EffectiveGrant
    /// Ends the connection's access.
    var end: @Sendable () -> Void
  }
  fileprivate struct State {
    /// Nil while the vault is locked: a connection keeps what its grant covers, and a new grant can't be judged.
    var grants: [String: CallerGrant]?
    /// Revoked grants that the disk still has: they open nothing, also after the vault was locked and opened again.
    var ending: Set<String> = []
    /// The connections that use a grant, by their ids.
    var users: [UInt64: User] = [:]
    /// The methods that patterns are matched with.
    let methods: [GrantableMethod]
  }
  private let state: Mutex<State>
  /// True if a person added something to one of the grants.
  private let hasAdditions = Atomic(false)
  /// Called when a grant has ended, or may have.
  private let watcher = Mutex<(@Sendable () -> Void)?>(nil)
  let methods: [GrantableMethod]
  private let clock: any AgentClock
  private let time: TimeKeeper
  private let alarm: Alarm
  /// The hash of the owner's secret, which the person's own programs read beside the store; nil if the agent trusts
  /// them without it.
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

  /// True if every connection must present a grant.
  package var isStrict: Bool { ownerHash != nil }

  // MARK: the vault

  func fill(_ grants: [CallerGrant]) {
    noteAdditions(of: grants)
    state.withLock { $0.grants = Dictionary(grants.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }) }
    endConnectionsWithoutGrant()
  }

  package func close() { state.withLock { $0.grants = nil } }

  func put(_ grant: CallerGrant) {
    noteAdditions(of: [grant])
    state.withLock { $0.grants?[grant.name] = grant }
  }

  /// Before anyone can meet the grants: an addition is never missed, and one that is over costs only time.
  private func noteAdditions(of grants: [CallerGrant]) {
    if grants.contains(where: { !$0.additions.isEmpty }) { hasAdditions.store(true, ordering: .releasing) }
  }

  /// `body` is called when grants have ended, or may have, before their callers are refused.
  package func whenGrantsEnd(_ body: @escaping @Sendable () -> Void) { watcher.withLock { $0 = body } }

  /// Removes revoked grants, and ends the access of connections that use one of them.
  func remove(_ names: Set<String>) {
    state.withLock { state in
      for name in names { state.grants?[name] = nil }
      state.ending.subtract(names)
    }
    endConnectionsWithoutGrant()
  }

  /// Ends a grant whose revocation the disk refused, and its descendants: connections that use one have no grant from
  /// now on.
  func end(_ name: String) {
    state.withLock { _ = $0.ending.insert(name) }
    endConnectionsWithoutGrant()
  }

  /// The grants that `end` ended and that `remove` has not removed yet.
  var ending: [String] { state.withLock { $0.ending.sorted() } }

  // MARK: opening

  /// The access of a connection that presents a grant's secret, narrower than before. Throws if no grant has this
  /// secret, or the vault is locked. `end` is called when the access ends.
  package func open(
    _ secret: Secret, on connection: UInt64, from access: CallerAccess, end: @escaping @Sendable () -> Void
  ) throws(AgentFailure) -> CallerAccess {
    let before = access.limits
    if case .refused = access { throw .caller(.grantRefused) }
    guard before?.areOpen(at: clock.boot()) ?? true else { throw .caller(.grantRefused) }
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
      guard let found, var limits = state.limits(of: found, left, at: clock.boot(), live: live(found.name)) else {
        throw .caller(.grantRefused)
      }
      if let before {
        // The connection presented this grant before: nothing changes.
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

  /// The grant's remaining lifetime; nil if it has no end, zero or less if it has expired.
  private func left(_ grant: CallerGrant) -> Milliseconds? {
    grant.lifetime.map { $0 - time.elapsed(since: grant.createdAt) }
  }

  /// What a person added to the grant and still counts.
  package func additions(of grant: CallerGrant) -> [CallerGrant.Addition] {
    grant.additions.filter { addition in
      addition.lifetime.map { $0 > time.elapsed(since: addition.addedAt) } ?? true
    }
  }

  /// A grant's permission of this moment, if something may have been added to it.
  private func live(_ name: String) -> @Sendable () -> Permission? {
    { [weak self] in
      guard let self, hasAdditions.load(ordering: .acquiring) else { return nil }
      return permission(of: name)
    }
  }

  /// A grant's permission with what was added to it, narrowed by its ancestors with what was added to these; nil if the
  /// grant is not known.
  private func permission(of name: String) -> Permission? {
    state.withLock { state in
      guard let grant = state.grants?[name] else { return nil }
      return state.line(of: grant).reduce(widened(grant, state.methods)) { permission, name in
        state.grants?[name].map { permission.narrowed(by: widened($0, state.methods)) } ?? permission
      }
    }
  }

  private func widened(_ grant: CallerGrant, _ methods: [GrantableMethod]) -> Permission {
    additions(of: grant).reduce(grant.permission(among: methods)) { $0.widened(by: $1.content) }
  }

  // MARK: queries

  /// The active grants, oldest first; with `makers`, only those created under these grants.
  package func current(madeBy makers: [String]? = nil) -> [CallerGrant] {
    state.withLock { state in
      let names = makers.map { Set(state.descendants(of: $0)) }
      return (state.grants ?? [:]).values
        .filter { names?.contains($0.name) ?? true && state.limits(of: $0, left, at: clock.boot()) != nil }
        .sorted { ($0.createdAt.time, $0.name) < ($1.createdAt.time, $1.name) }
    }
  }

  /// The coverage of a grant, narrowed by its ancestors; nil if it is unknown, or it or one of them was revoked or has
  /// expired.
  package func limits(of name: String) -> EffectiveGrant? {
    state.withLock { state in
      state.grants?[name].flatMap { state.limits(of: $0, left, at: clock.boot(), live: live(name)) }
    }
  }

  /// Those of these grants that cover nothing any more. None while the vault is locked, when nothing is known of them.
  func ended(among names: Set<String>) -> Set<String> {
    state.withLock { state in
      guard let grants = state.grants else { return [] }
      return names.filter { name in
        grants[name].flatMap { state.limits(of: $0, left, at: clock.boot()) } == nil
      }
    }
  }

  /// The failure for an unknown grant: `locked` while nothing is known of grants.
  package var notFound: AgentFailure { state.withLock { $0.grants == nil } ? .locked : .notFound(.callerGrant) }

  /// The name of a grant's client.
  package func client(of name: String) -> String? { state.withLock { $0.grants?[name]?.client } }

  /// A grant and its descendants: the grants created under it, and under those.
  func family(of name: String) -> Set<String> { state.withLock { Set([name] + $0.descendants(of: [name])) } }

  /// The grants that have expired, or whose makers have ended.
  var ended: [CallerGrant] {
    state.withLock { state in
      (state.grants ?? [:]).values.filter { state.limits(of: $0, left, at: clock.boot()) == nil }
    }
  }

  // MARK: time

  /// Sets the one alarm for the next expiry among the grants in use.
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

  /// Ends the access of connections whose grant was revoked or has expired, also after the wall clock was set forward.
  package func endConnectionsWithoutGrant() {
    watcher.withLock { $0 }?()
    let now = clock.boot()
    let ended = state.withLock { state -> [User] in
      let ended = state.users.filter { _, user in
        guard user.limits.areOpen(at: now) else { return true }
        guard let grants = state.grants else { return false }
        guard state.ending.isDisjoint(with: user.limits.line) else { return true }
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
  /// A grant and its ancestors, up to those that a person created.
  fileprivate func line(of grant: CallerGrant) -> Set<String> {
    var line: Set<String> = [grant.name]
    var open = grant.makers
    while let next = open.popLast() {
      if line.insert(next).inserted { open += grants?[next]?.makers ?? [] }
    }
    return line
  }

  /// The coverage of a grant, narrowed by its ancestors; nil if one of them was revoked or has expired.
  fileprivate func limits(
    of grant: CallerGrant, _ left: (CallerGrant) -> Milliseconds?, at now: BootInstant,
    live: @escaping @Sendable () -> Permission? = { nil }
  ) -> EffectiveGrant? {
    let line = line(of: grant)
    guard ending.isDisjoint(with: line) else { return nil }
    var permission = grant.permission(among: methods)
    var until: BootInstant?
    for name in line {
      guard let one = grants?[name] else { return nil }
      permission = permission.narrowed(by: one.permission(among: methods))
      guard let left = left(one) else { continue }
      guard left > .zero else { return nil }
      until = min(until ?? now + left, now + left)
    }
    return EffectiveGrant(permission: permission, grants: [grant.name], line: line, until: until, live: live)
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
