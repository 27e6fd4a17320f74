package import AgentCore
package import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentRecords
package import AgentStore

/// The parts of the agent that `Account` uses.
package final class AccountDependencies: Sendable {
  /// What accounts have the parts do that are made after them.
  package struct LaterParts: Sendable {
    /// Sends an entry of the outbox in the background, or when its time has come.
    package var revoke: @Sendable (OutboxEntry) -> Void
    /// Tries the outstanding revocations of one person by a client, or of all persons, within a few seconds.
    package var drain: @Sendable (IssuingClient, Identity?) async -> Void
    /// Holds back the revocations by a client, until the hold is released. Those of the person who signed in are then
    /// tried within a few seconds.
    package var hold: @Sendable (IssuingClient) async -> UInt64
    package var release: @Sendable (UInt64, Identity?) async -> Void
    /// The account may deliver operations again: it signed in, or its data is open.
    package var operationsMayGo: @Sendable (AccountID) -> Void
    /// A host answered where none did.
    var networkIsThere: @Sendable () -> Void

    package init(
      revoke: @escaping @Sendable (OutboxEntry) -> Void,
      drain: @escaping @Sendable (IssuingClient, Identity?) async -> Void,
      hold: @escaping @Sendable (IssuingClient) async -> UInt64,
      release: @escaping @Sendable (UInt64, Identity?) async -> Void,
      operationsMayGo: @escaping @Sendable (AccountID) -> Void, networkIsThere: @escaping @Sendable () -> Void
    ) {
      self.revoke = revoke
      self.drain = drain
      self.hold = hold
      self.release = release
      self.operationsMayGo = operationsMayGo
      self.networkIsThere = networkIsThere
    }
  }

  package let vault: VaultActor
  package let background: BackgroundWork
  package let gate: ExchangeGate
  /// The turns of requests that ask a provider before an account of it is stored: a provider that hangs delays its own,
  /// and no other's.
  package let introductions: ExchangeGate
  let renewals: RenewalTimer
  package let tokenCache: TokenCache
  package let validTokens: ValidTokens
  package let decisions: DecisionCache
  package let events: any EventPublishing
  package let connectivity: ConnectivityState
  package let time: TimeKeeper
  /// For how long the policy of a provider's accounts allows anything offline in a state; nil if it allows nothing.
  let offlineWindow: @Sendable (ProviderName, PolicyFacts.State) -> Milliseconds?
  package let stepUps: StepUps
  let metadata: MetadataRefresher
  package let keySets = KeySets()
  /// What servers told for the proofs of bound tokens.
  let nonces = DPoPNonces()
  package let demands = LastDemands()
  package let environment: AgentEnvironment
  package let later: LaterParts

  /// Of the requests in `introductions`, to one provider and in all: each holds a connection and its memory for half a
  /// minute if nothing answers.
  private static let (mostForAProvider, mostIntroductions) = (8, 32)

  package init(
    vault: VaultActor, tokenCache: TokenCache, validTokens: ValidTokens, decisions: DecisionCache, time: TimeKeeper,
    stepUps: StepUps, background: BackgroundWork, events: any EventPublishing, environment: AgentEnvironment,
    offlineWindow: @escaping @Sendable (ProviderName, PolicyFacts.State) -> Milliseconds?, later: LaterParts
  ) {
    self.vault = vault
    self.background = background
    gate = ExchangeGate(clock: environment.clock, background: background)
    introductions = ExchangeGate(
      clock: environment.clock, background: background,
      queue: ExchangeQueue(mostForAnIssuer: Self.mostForAProvider, mostInAll: Self.mostIntroductions))
    renewals = RenewalTimer(clock: environment.clock, background: background)
    self.tokenCache = tokenCache
    self.validTokens = validTokens
    self.decisions = decisions
    self.events = events
    connectivity = ConnectivityState(
      events: events, clock: environment.clock, decisions: decisions, cameOnline: later.networkIsThere)
    self.time = time
    self.offlineWindow = offlineWindow
    self.stepUps = stepUps
    metadata = MetadataRefresher(vault: vault, background: background, environment: environment, time: time)
    self.environment = environment
    self.later = later
  }

  package func client(of provider: Provider) -> ProviderClient {
    var dependencies = ProviderClient.Dependencies(environment, time: time)
    dependencies.nonces = nonces
    dependencies.http = ObservedHTTPExchange(
      base: environment.http, provider: provider, connectivity: connectivity, metadata: metadata)
    return ProviderClient(provider: provider, dependencies: dependencies)
  }
}
