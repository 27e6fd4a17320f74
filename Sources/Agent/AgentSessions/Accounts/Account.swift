package import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentPorts
package import AgentRecords
internal import AgentStore
package import Secrets

/// Performs what `TokenMachine` and `ExchangeMachine` decide for the grant of one account.
///
/// No account waits for another one, and a caller that disconnects cancels no exchange. This file keeps the account's
/// state and replaces its grant; `Account+Requests.swift` serves the callers. Its parts are isolated to it: `GrantLoader`
/// reads the grant from the vault, `ExchangeRunner` performs the exchange, `AccountTokens` keeps the tokens that it
/// brought, `RenewalPlan` renews them without a request, `AccountIdentity` keeps the ID token,
/// `AccountDerivedTokens` the tokens that were exchanged for one of these, `AccountRoles` the credentials of roles,
/// `RightsFetcher` and `AccountConfirmer` ask for the rest.
package actor Account {
  package nonisolated let id: AccountID
  package nonisolated let dependencies: AccountDependencies
  var loaded: Loaded? { didSet { dependencies.decisions.withdraw(id) } }
  let loader = GrantLoader()
  let exchanges = ExchangeRunner()
  let tokens = AccountTokens()
  let renewal = RenewalPlan()
  let rightsFetcher = RightsFetcher()
  private(set) var rareParts = RareParts()
  /// The `reachabilityGeneration` that was last reported to the machine.
  private var noticedReachability: UInt64 = 0
  /// Counts the changes of the provider's configuration, so that a slow read is detected as outdated.
  private var configurationChanges: UInt64 = 0
  var waiting = WaitingCallers()
  /// In this run of the agent, and not signed in again since.
  private(set) var wasSignedOutOffline = false

  /// The grant as stored, and its machine.
  struct Loaded {
    var profile: AccountProfile
    var machine: TokenMachine
    var grant: GrantRecord
    /// When the state that subscribers know began, on the provider's timeline.
    var stateSince: Timestamp?
    @Rare var lastFailure: LastFailure? = nil
    /// The last failure of the store.
    @Rare var storeError: AgentFailure? = nil
    /// The identity in the ID token of the sign-in, which every later ID token must repeat.
    var idTokenIdentity: IDTokenIdentity?
    /// The memory that the rights snapshot is read from.
    var rights: RightsMemory?
  }

  init(id: AccountID, dependencies: AccountDependencies) {
    self.id = id
    self.dependencies = dependencies
  }

  /// The parts that most accounts never need: each is made when it is first used, and takes no memory before.
  struct RareParts {
    fileprivate(set) var identity: AccountIdentity?
    fileprivate(set) var derived: AccountDerivedTokens?
    fileprivate(set) var roles: AccountRoles?
    fileprivate(set) var confirmer: AccountConfirmer?
  }

  var identity: AccountIdentity { part(\.identity, orMade: AccountIdentity()) }
  var derived: AccountDerivedTokens { part(\.derived, orMade: AccountDerivedTokens()) }
  var roles: AccountRoles { part(\.roles, orMade: AccountRoles()) }
  var confirmer: AccountConfirmer {
    part(\.confirmer, orMade: AccountConfirmer(id, decisions: dependencies.decisions))
  }

  private func part<Part>(
    _ place: WritableKeyPath<RareParts, Part?>, orMade make: @autoclosure () -> Part
  ) -> Part {
    if let used = rareParts[keyPath: place] { return used }
    let made = make()
    rareParts[keyPath: place] = made
    return made
  }

  var clock: any AgentClock { dependencies.environment.clock }

  var journal: AccountJournal { AccountJournal(vault: dependencies.vault, id: id) }

  // MARK: replacing the grant

  /// A sign-in brought a new grant, which is stored already.
  package func signedIn(
    _ profile: AccountProfile, _ grant: GrantRecord, rule: ProviderConfiguration.RefreshRule,
    _ token: AccessToken?, idToken: Secret?, rights: RightsMemory?, unlockGeneration: UInt64
  ) {
    // A later sign-in came here first: this grant is replaced already, also on the disk.
    if let loaded, loaded.profile.epoch > profile.epoch { return }
    wasSignedOutOffline = false
    loader.outdate()
    rareParts.confirmer?.signedIn()
    closeConnections()
    // The vault was locked since: keep nothing in memory.
    guard dependencies.tokenCache.unlockGeneration == unlockGeneration else { return }
    tokens.replaceAll(of: self)
    rareParts.identity?.forget(telling: nil)
    rareParts.derived?.forget(telling: .token(.signedOut, id))
    rareParts.roles?.forget(telling: .token(.signedOut, id))
    exchanges.revokeHeldAnswer(of: self)
    exchanges.machine.signedIn(epoch: profile.epoch)
    exchanges.answers.keep(only: exchanges.machine.neededAnswers)
    var machine = TokenMachine(
      memory: TokenMemory(health: .ok), rule: rule, isIssuedElsewhere: profile.isIssuedElsewhere,
      toldState: profile.restingState)
    if let token = token.flatMap({ tokens.take($0, boundTo: grant.deviceKey, from: profile.provider, of: self) }) {
      _ = machine.adopt(token.facts, for: .standard)
      // A sign-in counts as one use: the program that began it asks for the token next.
      machine.used(.standard, at: clock.boot())
    }
    loaded = Loaded(
      profile: profile, machine: machine, grant: grant, stateSince: profile.stateSince,
      idTokenIdentity: idToken.flatMap { IDTokenIdentity($0, sharingTextsOf: profile) }, rights: rights)
    tokens.retakeSecret(of: self)
    publishSession()
    tokens.publish(of: self)
    // A caller that waited for the old grant's token gets the new grant's.
    for waiter in waiting.ids {
      guard let key = waiting.key(of: waiter) else { continue }
      perform(
        loaded?.machine.wanted(by: waiter, key: key, demand: .usable(minimumLifetime: .zero), at: clock.boot()) ?? [])
    }
    renewal.watch(self)
  }

  /// A sign-out is about to be stored. Returns what the last one was, for the case that this one fails.
  func signsOut(offline: Bool) -> Bool {
    defer { wasSignedOutOffline = offline }
    return wasSignedOutOffline
  }

  /// Drops the memory: the stored grant was replaced, or the vault was locked. An exchange in flight finds that its
  /// attempt is no longer current.
  func release(_ error: AgentFailure) {
    loader.outdate()
    tokens.withdraw(of: self)
    dependencies.tokenCache.setSession(nil, of: id)
    refuseWaiters(error)
    rightsFetcher.refuseWaiters(error)
    rareParts.identity?.forget(telling: error)
    rareParts.derived?.forget(telling: error)
    rareParts.roles?.forget(telling: error)
    loaded = nil
    exchanges.machine.released()
    renewal.clear()
    closeConnections()
  }

  /// A connection to a resource server may know whose it is, so it never outlives the grant.
  private func closeConnections() { dependencies.environment.http.closeConnections(of: id.text) }

  /// The provider's configuration changed: requests that it refused before are sent again.
  func configurationChanged() async {
    rareParts.confirmer?.configurationChanged()
    closeConnections()
    configurationChanges += 1
    let change = configurationChanges
    guard let (profile, _, rule) = try? await journal.open(), change == configurationChanges,
      loaded?.profile.epoch == profile.epoch
    else { return }
    loaded?.profile.issuedBy = profile.issuedBy
    loaded?.profile.isIssuedElsewhere = profile.isIssuedElsewhere
    loaded?.profile.stateSince = profile.stateSince
    rareParts.identity?.reconfigured()
    rareParts.derived?.forgetFailures()
    rareParts.roles?.forgetFailures()
    let effects = loaded?.machine.reconfigured(rule: rule, isIssuedElsewhere: profile.isIssuedElsewhere) ?? []
    tokens.retakeSecret(of: self)
    perform(effects)
  }

  /// The vault was locked: drops the memory; an answer that could not be stored goes to the inbox.
  func vaultWasLocked() async {
    release(.locked)
    await exchanges.dropHeldAnswer(of: self)
  }

  /// Hands the answer that could not be stored to a sign-out, since it holds the only live refresh token. Returns its
  /// entry for the outbox; nil without such an answer, or if an exchange is about to handle it.
  func releaseHeldAnswer() async -> OutboxEntry? { await exchanges.releaseHeldAnswer(of: self) }

  /// The live access tokens with their remaining lifetimes, for a sign-out.
  var liveTokens: [(token: Secret, lives: Milliseconds)] { tokens.live(of: self) }

  // MARK: changes of the surroundings

  /// The provider may be reachable again: renews tokens in use that are due soon, and ends the pause for the next
  /// caller.
  func reconnected() {
    noticeReachability()
    rightsFetcher.retry(for: self)
    renewal.reconnected(self)
  }

  func noticeReachability() {
    let reachabilityGeneration = dependencies.connectivity.reachabilityGeneration
    guard noticedReachability != reachabilityGeneration else { return }
    noticedReachability = reachabilityGeneration
    loaded?.machine.reconnected()
    rareParts.derived?.forgetFailures()
    rareParts.roles?.forgetFailures()
  }

  /// The time of this provider was set; nil: the wall clock was.
  func clockChanged(of provider: ProviderName?) {
    guard let loaded, provider.map({ $0 == loaded.profile.provider }) ?? true else { return }
    tokens.retakeSecret(of: self)
    tokens.publish(of: self)
    // Time alone ends a secret, and gives it back: subscribers and every view learn of it now.
    if loaded.profile.kind == .secret { perform([]) }
    renewal.watch(self)
  }
}
