package import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentRecords
package import AgentStore

/// The facts about an account that a decision is made from, all of one moment.
package struct AccountFacts: Sendable {
  package var account: AccountID
  /// Of the sign-in that the facts belong to.
  package var epoch: UInt64
  package var provider: ProviderName
  package var facts: PolicyFacts
  package var time: ProviderTime
  package var readAt: BootInstant
  /// Of the moment before they were read.
  package var ticket: DecisionCache.Ticket
}

extension Account {
  /// The facts for a decision, from memory once the account is loaded: asks no provider and begins no exchange.
  package func authorizationFacts() async throws(AgentFailure) -> AccountFacts {
    try await settle()
    let ticket = dependencies.decisions.ticket()
    guard let loaded else { throw .locked }
    let now = clock.boot()
    let (profile, machine) = (loaded.profile, loaded.machine)
    let age = profile.lastOnlineAuthAt.map { dependencies.time.elapsed(since: $0, by: profile.provider) }
    let time = dependencies.time.reading(for: profile.provider, since: profile.lastOnlineAuthAt)
    let stepUps = dependencies.stepUps.known(id)
    let connectivity = dependencies.connectivity
    // Where no request ever shows that the provider can be reached, it can be unless something says otherwise.
    let isReachable =
      machine.isConfirmedOnce
      ? !connectivity.isUnreachable(profile.provider) : connectivity.isReachable(profile.provider)
    let isOnline =
      isReachable
      && !(rareParts.confirmer?.lacksAnswer ?? machine.lacksAnswer)
    var facts = PolicyFacts(
      state: PolicyFacts.State(machine.toldState), isOnline: isOnline,
      confirmationAge: age, token: PolicyFacts.Token(machine.standardToken, at: now),
      snapshot: nil, stepUpAges: stepUps.ages, stepUpsLeft: stepUps.left, clock: time.clock)
    facts.clockBehind = time.behind
    facts.providerCanBeAsked = !machine.isConfirmedOnce
    if facts.state == .reauthenticationRequired { facts.endReason = machine.endReason }
    // The data of a signed-out account is sealed or gone, and it has no token.
    guard profile.signInStatus == .signedIn else {
      facts.state = .signedOut
      facts.token = .none
      return AccountFacts(
        account: id, epoch: profile.epoch, provider: profile.provider, facts: facts, time: time, readAt: now,
        ticket: ticket)
    }
    facts.tokenScopes = Set(loaded.grant.scopes.names)
    facts.snapshot = snapshot(of: loaded).map { PolicyFacts.Snapshot($0, age: $1) }
    facts.snapshot?.knowsRoles = loaded.rights?.roles != nil
    facts.snapshot?.knowsEntitlements = loaded.rights?.knowsEntitlements ?? false
    facts.snapshot?.learnsEntitlements = profile.kind != .secret
    return AccountFacts(
      account: id, epoch: profile.epoch, provider: profile.provider, facts: facts, time: time, readAt: now,
      ticket: ticket)
  }
}

extension AccountDependencies {
  /// The time of its provider until which the policy allows anything offline in this state; nil if it allows nothing.
  func offlineGraceUntil(of profile: AccountProfile, in state: AccountState) -> Timestamp? {
    guard let confirmed = profile.lastOnlineAuthAt,
      let window = offlineWindow(profile.provider, PolicyFacts.State(state))
    else { return nil }
    return time.now(for: profile.provider) + (window - time.elapsed(since: confirmed, by: profile.provider))
  }
}

extension PolicyFacts.State {
  init(_ state: AccountState) { self = Self(rawValue: state.rawValue) ?? .signedOut }
}

extension PolicyFacts.Token {
  fileprivate init(_ token: TokenMachine.TokenFacts?, at now: BootInstant) {
    guard let token else {
      self = .none
      return
    }
    self = now < token.expiresAt ? .unexpired(remaining: token.expiresAt - now) : .expired
  }
}

extension PolicyFacts.Snapshot {
  init(_ snapshot: AuthorizationSnapshot, age: Milliseconds) {
    self.init(
      roles: snapshot.roles, scopes: Set(snapshot.scopes.names), entitlements: snapshot.entitlements, age: age,
      version: snapshot.version)
  }
}
