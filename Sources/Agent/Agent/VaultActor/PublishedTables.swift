internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentVault
internal import Secrets

/// The tables that an open vault publishes to readers that must not wait for `VaultActor`. Filled at the opening,
/// changed after each commit, emptied at the locking.
struct PublishedTables: Sendable {
  let tokenCache: TokenCache
  let decisions: DecisionCache
  let stepUps: StepUps
  let policyCache: PolicyCache
  /// What the administrator's files say. It does not depend on the vault.
  let administrator = AdministratorTable()
  let callerGrants: CallerGrantTable
  let time: TimeKeeper
  let events: any EventPublishing
  /// Where the organisation's policies come from; nil without one.
  let policySource: PolicySource?
  let requestRoutes = RequestRoutes()
  /// What is known of requests of operations and is not stored yet.
  let operationAttempts = OperationAttempts()
  /// Takes counted repeats into the log in the background, soon after the first one.
  let repeatsBegan: @Sendable () -> Void

  /// Empty tables. `rememberTime` makes the trusted time durable. `settleRepeats` takes counted repeats into the audit
  /// log, and returns when it is to be called again.
  init(
    clock: any AgentClock, events: any EventPublishing, background: BackgroundWork, ownerGrant: Secret?,
    grantableMethods: [GrantableMethod], policySource: PolicySource?,
    rememberTime: @escaping @Sendable () async -> Void,
    settleRepeats: @escaping @Sendable () async -> BootInstant?
  ) {
    self.events = events
    tokenCache = TokenCache()
    decisions = DecisionCache()
    stepUps = StepUps(clock: clock, events: events, background: background, decisions: decisions)
    self.policySource = policySource
    time = TimeKeeper(clock: clock, events: events, background: background, decisions: decisions) {
      background.start(rememberTime)
    }
    policyCache = PolicyCache(decisions: decisions) { [time] in time.elapsed(since: $0) }
    callerGrants = CallerGrantTable(
      clock: clock, time: time, background: background, owner: ownerGrant, methods: grantableMethods)
    let alarm = Alarm(clock: clock, background: background)
    repeatsBegan = { alarm.set(clock.boot() + AuditRecorder.repeatPause, settleRepeats) }
  }

  /// Everything but the accounts, which callers can use from `open(_:)` on. True if the time was kept in another boot
  /// of the machine: then it is to be written down anew.
  func fill(from vault: OpenVault) throws -> Bool {
    let names = vault.directory.providers.compactMapValues(\.configuration.policy)
    let policies = try vault.records.documents(named: Set(names.values))
    let grants = try vault.records.callerGrants()
    let sourced: SourcedPolicies?
    if let policySource { sourced = try vault.sourcedPolicies(of: policySource) } else { sourced = nil }
    let isOfAnotherBoot = time.open(try TrustedTimeStore.record(in: vault.records))
    policyCache.fill(policies, named: names, sourced: sourced)
    callerGrants.fill(grants)
    return isOfAnotherBoot
  }

  /// From here on callers find the accounts.
  func open(_ vault: OpenVault) {
    tokenCache.setDirectory(
      vault.directory.profiles.values.map { ($0.id, $0.alias) }, active: vault.directory.active,
      unlockGeneration: vault.unlockGeneration)
  }

  /// The tokens go before the policies: a reader that finds no policy and then an open `tokenCache` knows that there is
  /// none.
  func clear() {
    tokenCache.clear()
    time.close()
    stepUps.clearAll()
    policyCache.clear()
    callerGrants.close()
    requestRoutes.forgetAll()
    decisions.withdrawAll()
  }
}
