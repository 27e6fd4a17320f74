internal import AgentCore
internal import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentStore

/// The parts of the agent that `Account` uses.
package final class AccountDependencies: Sendable {
  package let vault: VaultActor
  let admissions: AdmissionGroups
  package let background: BackgroundWork
  package let gate: ExchangeGate
  let renewals: RenewalTimer
  package let tokenCache: TokenCache
  let validTokens: ValidTokens
  let routes: RequestRoutes
  let decisions: DecisionCache
  package let events: any EventPublishing
  package let connectivity: ConnectivityState
  package let time: TimeKeeper
  package let policies: PolicyCache
  package let stepUps: StepUps
  package let metadata: MetadataRefresher
  let keySets = KeySets()
  /// What servers told for the proofs of bound tokens.
  let nonces = DPoPNonces()
  package let demands = LastDemands()
  package let environment: AgentEnvironment
  let operationAttempts: OperationAttempts
  /// Sends an entry of the outbox in the background.
  package let revoke: @Sendable (OutboxEntry) -> Void
  /// Tries the outstanding revocations of one person at a provider, or of all persons, within a few seconds.
  let drain: @Sendable (ProviderName, Identity?) async -> Void
  /// The account may deliver operations again: it signed in, or its data is open.
  let operationsMayGo: @Sendable (AccountID) -> Void

  init(
    vault: VaultActor, tables: AgentTables, background: BackgroundWork, events: any EventPublishing,
    environment: AgentEnvironment, revoker: Handle<RevocationWorker>, operations: Handle<OperationWorker>
  ) {
    self.vault = vault
    admissions = AdmissionGroups(vault: vault)
    self.background = background
    gate = ExchangeGate(clock: environment.clock, background: background)
    renewals = RenewalTimer(clock: environment.clock, background: background)
    tokenCache = tables.tokenCache
    validTokens = tables.validTokens
    routes = tables.requestRoutes
    decisions = tables.decisions
    self.events = events
    connectivity = ConnectivityState(
      events: events, clock: environment.clock, decisions: tables.decisions,
      cameOnline: { background.start { await operations.value?.networkIsThere() } })
    time = tables.time
    policies = tables.policyCache
    stepUps = tables.stepUps
    metadata = MetadataRefresher(
      vault: vault, background: background, environment: environment, time: tables.time)
    self.environment = environment
    operationAttempts = tables.operationAttempts
    revoke = { entry in background.start { _ = await revoker.value?.send(entry) } }
    drain = { await revoker.value?.drain($0, of: $1) }
    operationsMayGo = { account in background.start { await operations.value?.accountReturned(account) } }
  }

  package func client(of provider: Provider) -> ProviderClient {
    var dependencies = ProviderClient.Dependencies(environment, time: time)
    dependencies.nonces = nonces
    dependencies.http = ObservedHTTPExchange(
      base: environment.http, provider: provider, connectivity: connectivity, metadata: metadata)
    return ProviderClient(provider: provider, dependencies: dependencies)
  }
}
