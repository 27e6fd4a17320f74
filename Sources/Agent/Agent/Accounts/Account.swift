package import AgentCore
package import AgentModel
internal import AgentOAuth
package import AgentPorts
package import Secrets

/// Performs what `TokenMachine` and `ExchangeMachine` decide for the grant of one account.
///
/// No account waits for another one, and a caller that disconnects cancels no exchange. This file keeps the account's
/// state and replaces its grant. `Account+Requests.swift` serves the callers, `Account+Loading.swift` reads the grant
/// from the vault, `ExchangeRunner` performs the exchange, `Account+Renewal.swift` the renewals without a request.
package actor Account {
  package nonisolated let id: AccountID
  let dependencies: AccountDependencies
  var loaded: Loaded? { didSet { dependencies.decisions.withdraw(id) } }
  let exchanges = ExchangeRunner()
  /// Counts replacements of the grant from outside, so that a slow load is detected as outdated.
  var replacements = 0
  /// When `Account` next checks whether a token needs renewal.
  var nextLook: BootInstant?
  /// The `reachabilityGeneration` that was last reported to the machine.
  var noticedReachability: UInt64 = 0
  let rightsFetcher = RightsFetcher()
  let confirmer: AccountConfirmer
  /// The token that the reading thread serves.
  var published: PublishedToken?
  var tokens = IssuedTokens()
  var waiting = WaitingCallers()

  /// The grant as stored, and its machine.
  package struct Loaded {
    package var profile: AccountProfile
    var machine: TokenMachine
    package var grant: GrantRecord
    /// The state in the last event to subscribers.
    var toldState: AccountState
    /// When that state began, on the provider's timeline.
    var stateSince: Timestamp?
    var lastFailure: LastFailure?
    /// The last failure of the store.
    var storeError: AgentFailure?
    /// The identity in the ID token of the sign-in, which every later ID token must repeat.
    var idTokenIdentity: IDTokenIdentity?
    /// The memory that the rights snapshot is read from.
    package var rights: RightsMemory?
  }

  package init(id: AccountID, dependencies: AccountDependencies) {
    self.id = id
    self.dependencies = dependencies
    confirmer = AccountConfirmer(id, decisions: dependencies.decisions)
  }

  package var clock: any AgentClock { dependencies.environment.clock }

  var journal: AccountJournal { AccountJournal(vault: dependencies.vault, id: id) }

  // MARK: replacing the grant

  /// A sign-in brought a new grant, which is stored already.
  package func signedIn(
    _ profile: AccountProfile, _ grant: GrantRecord, rule: ProviderConfiguration.RefreshRule,
    _ token: AccessToken?, idToken: Secret?, rights: RightsMemory?, unlockGeneration: UInt64
  ) {
    replacements += 1
    confirmer.signedIn()
    // The vault was locked since: keep nothing in memory.
    guard dependencies.tokenCache.unlockGeneration == unlockGeneration else { return }
    tokens.removeAll()
    exchanges.revokeHeldAnswer(of: self)
    exchanges.machine.signedIn(epoch: profile.epoch)
    exchanges.wipeAnswers()
    var machine = TokenMachine(health: .ok, rule: rule, isIssuedElsewhere: profile.isIssuedElsewhere)
    if let token = token.flatMap({ take($0, from: profile.provider) }) {
      _ = machine.adopt(token.facts, for: .standard)
      // A sign-in counts as one use: the program that began it asks for the token next.
      machine.used(.standard, at: clock.boot())
    }
    loaded = Loaded(
      profile: profile, machine: machine, grant: grant, toldState: .active,
      stateSince: profile.stateSince, idTokenIdentity: idToken.flatMap(IDTokenIdentity.read), rights: rights)
    dependencies.tokenCache.setState(.active, of: id)
    publish()
    // A caller that waited for the old grant's token gets the new grant's.
    for waiter in waiting.ids {
      guard let key = waiting.key(of: waiter) else { continue }
      perform(
        loaded?.machine.wanted(by: waiter, key: key, demand: .usable(minimumLifetime: .zero), at: clock.boot()) ?? [])
    }
    watchRenewal()
  }

  /// Drops the memory: the stored grant was replaced, or the vault was locked. An exchange in flight finds that its
  /// attempt is no longer current.
  package func release(_ error: AgentFailure) {
    replacements += 1
    dependencies.tokenCache.withdraw(id)
    published = nil
    refuseWaiters(error)
    rightsFetcher.refuseWaiters(error)
    loaded = nil
    exchanges.machine.released()
    tokens.removeAll()
    nextLook = nil
  }

  /// The provider's configuration changed: requests that it refused before are sent again.
  package func configurationChanged() async {
    confirmer.configurationChanged()
    guard let (profile, _, rule) = try? await journal.open(), loaded?.profile.epoch == profile.epoch else { return }
    loaded?.profile = profile
    perform(loaded?.machine.reconfigured(rule: rule, isIssuedElsewhere: profile.isIssuedElsewhere) ?? [])
  }
}
