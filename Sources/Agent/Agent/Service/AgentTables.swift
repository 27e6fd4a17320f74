internal import AgentCore
internal import AgentModel
internal import AgentPermissions
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import AgentUpkeep
package import AgentVault
internal import Secrets

/// The tables of all features, and what each needs of another one. A feature with a new table adds it here.
package struct AgentTables: Sendable {
  /// The kinds of records that the features keep, in the order of their numbers. A new one takes the number after the
  /// last. What is missing here is the vault's own, or stays unused.
  package static let kinds = DeclaredKinds([
    .profile, .grant, .intent, .staged, .idToken, .accessTokens, .programSecret, .programSecretNames, .stepUp,
    .snapshot, .provider, .activeAccount, .outbox, .trustedTime, .erasure, .policy, .callerGrant, .operation,
    .operationContent, .operationAnswer, .operationTally, .operationTraces, .rule, .roleCredentials, .budget,
    .policyBundle, .policySource, .administratorPolicy, .importJournal, .spentAttempts,
  ])

  /// What the features keep in memory of the open vault.
  static let kept: [any VaultTable.Type] = [
    AccountTable.self, ProviderTable.self, RuleTable.self, OperationTable.self, ImportTable.self,
  ]

  let tokenCache = TokenCache()
  let validTokens: ValidTokens
  let decisions = DecisionCache()
  let stepUps: StepUps
  let policyCache: PolicyCache
  let administrator = AdministratorTable()
  let callerGrants: CallerGrantTable
  let time: TimeKeeper
  let requestRoutes = RequestRoutes()
  let operationAttempts = OperationAttempts()
  let auditRecorder = AuditRecorder()
  let published: PublishedTables

  /// What they do around commits, openings and lockings. At an opening the inbox comes before anything that reads a token,
  /// and the administrator's files last; who adds entries to a commit comes before the recorder, which charges them.
  var watchers: [any VaultWatcher] { [InboxDrain.Watcher(), time, auditRecorder, administrator] }

  /// Empty tables. `rememberTime` makes the trusted time durable; `timeWasSet` follows a provider that told another time.
  init(
    clock: any AgentClock, events: any EventPublishing, background: BackgroundWork, ownerGrant: Secret?,
    grantableMethods: [GrantableMethod], policySource: PolicySource?,
    rememberTime: @escaping @Sendable () async -> Void, timeWasSet: @escaping @Sendable (ProviderName) -> Void
  ) {
    validTokens = ValidTokens(tokenCache)
    stepUps = StepUps(clock: clock, events: events, background: background, decisions: decisions)
    time = TimeKeeper(
      clock: clock, events: events, background: background, decisions: decisions,
      remember: { background.start(rememberTime) }, wasSet: timeWasSet)
    policyCache = PolicyCache(decisions: decisions, source: policySource) { [time] in time.elapsed(since: $0) }
    callerGrants = CallerGrantTable(
      clock: clock, time: time, background: background, owner: ownerGrant, methods: grantableMethods)
    // The tokens are closed before the policies: a reader that finds no policy and then an open `tokenCache` knows that
    // there is none. The time is filled before the grants, whose lifetimes it measures. The last three outlast a locking:
    // what the files say, what is not stored yet of operations, quotas and missed entries of the log.
    published = PublishedTables([
      tokenCache, validTokens, time, stepUps, policyCache, callerGrants, requestRoutes, decisions, administrator,
      operationAttempts,
      auditRecorder,
    ])
  }
}
