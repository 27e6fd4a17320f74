internal import AgentModel
public import AgentPorts
internal import AgentProtocol
public import JSONRPC
public import Secrets
internal import Synchronization

/// The agent: owns every part, begins conversations, ends in order.
///
///     let agent = AgentService(store: store, keySource: keyFile, environment: environment, version: "1.0.0")
///     try await agent.open(protection: "keyFile")
///     await agent.run()          // until shutDown()
public final class AgentService: ConversationHost {
  let environment: AgentEnvironment
  let version: String
  /// New at each start: a client that sees another one knows that the agent was away.
  let instance: String
  let startedAt: Timestamp
  let tokenCache = TokenCache()
  let background = BackgroundWork()
  let events: EventHub
  let vault: VaultActor
  let door = AsyncMutex()
  let idle: IdleWatch
  let locking: LockingRules
  let accounts: AccountDirectory
  let signIns: SignInCoordinator
  let revocations: RevocationWorker
  let erasures: ErasureWorker
  let stepUps: StepUps
  let stepUpCoordinator: StepUpCoordinator
  let connectivity: ConnectivityState
  let time: TimeKeeper
  let gate: ExchangeGate
  let policyCache = PolicyCache()
  let audit: AuditWriter
  let callerGrants: CallerGrantTable
  let backups: BackupCoordinator
  let methods = ServedMethods.all
  private let onShutDown: @Sendable () -> Void

  private struct Clients {
    var count = 0
    var next: UInt64 = 1
  }
  private let clients = Mutex(Clients())
  private let shuttingDown = Atomic(false)

  /// `ownerGrant`: everybody must bring a grant, and this is the person's own, which covers everything and is never
  /// written down here. Nil: programs of the agent's own user are trusted.
  ///
  /// `onShutDown` is called once, when `agent.shutdown` has been answered or `shutDown()` was called: the transport
  /// ends then.
  public init(
    store: sending any Store, keySource: (any KeySource)?, otherKeySources: [any KeySource] = [],
    anchor: (any RollbackAnchor)? = nil, environment: AgentEnvironment, version: String,
    ownerGrant: Secret? = nil, locking: LockingRules = LockingRules(),
    onShutDown: @escaping @Sendable () -> Void = {}
  ) {
    self.locking = locking
    self.environment = environment
    self.version = version
    self.onShutDown = onShutDown
    instance = "run_" + Base32.encode(environment.entropy.bytes(16))
    startedAt = environment.clock.wall()
    events = EventHub(epoch: instance, clock: environment.clock)
    let owner = Handle<VaultActor>()
    time = TimeKeeper(clock: environment.clock, events: events) { [background] in
      background.start { await owner.value?.rememberTime() }
    }
    stepUps = StepUps(clock: environment.clock, events: events, background: background)
    callerGrants = CallerGrantTable(
      clock: environment.clock, time: time, background: background, owner: ownerGrant,
      methods: ServedMethods.grantable)
    vault = VaultActor(
      store: store, keySources: (keySource.map { [$0] } ?? []) + otherKeySources, anchor: anchor,
      clock: environment.clock, entropy: environment.entropy, tokenCache: tokenCache, time: time,
      policyCache: policyCache,
      stepUps: stepUps, callerGrants: callerGrants)
    stepUpCoordinator = StepUpCoordinator(vault: vault, methods: [PINMethod()] + environment.stepUpMethods)
    owner.value = vault
    audit = AuditWriter(vault: vault, background: background)
    connectivity = ConnectivityState(events: events, clock: environment.clock)
    gate = ExchangeGate(clock: environment.clock, background: background)
    let revocationWorker = Handle<RevocationWorker>()
    let dependencies = AccountDependencies(
      vault: vault, background: background, gate: gate,
      renewals: RenewalTimer(clock: environment.clock, background: background), tokenCache: tokenCache, events: events,
      connectivity: connectivity,
      time: time, policies: policyCache, stepUps: stepUps,
      metadata: MetadataRefresher(vault: vault, background: background, environment: environment, time: time),
      environment: environment,
      revoke: { [background] entry in
        background.start { _ = await revocationWorker.value?.send(entry) }
      }, drain: { await revocationWorker.value?.drain($0, of: $1) })
    accounts = AccountDirectory(dependencies: dependencies)
    signIns = SignInCoordinator(dependencies: dependencies, accounts: accounts)
    backups = BackupCoordinator(
      vault: vault, accounts: accounts, events: events, files: environment.backups, clock: environment.clock)
    revocations = RevocationWorker(dependencies: dependencies)
    erasures = ErasureWorker(dependencies: dependencies)
    revocationWorker.value = revocations
    let whole = Handle<AgentService>()
    idle = IdleWatch(after: locking.idle, clock: environment.clock, background: background) {
      await whole.value?.lock(because: .idle)
    }
    whole.value = self
  }

  // MARK: life

  /// How the agent stands after its start.
  public enum Opening: Sendable, Equatable {
    case open
    /// A person must give the passphrase, by `agent.unlock`, or make the vault by `agent.initialize`.
    case locked
  }

  /// Opens the vault as far as that needs no person. Throws with what to tell them if the vault can't be opened.
  ///
  /// - Parameter acceptingOldStore: the person says that a store which is older than its anchor is what there is: every
  ///   account in it is signed out, and nothing of it is sent.
  public func open(
    protection: String, passphrase: Secret? = nil, acceptingOldStore: Bool = false
  ) async throws(StartFailure) -> Opening {
    defer { if tokenCache.unlockGeneration != nil { idle.opened() } }
    // Whatever cut off a backup of before.
    environment.backups.removeAll()
    do throws(AgentFailure) {
      switch try await vault.open(protection: protection, acceptingOldStore: acceptingOldStore) {
      case .open: return .open
      case .needsInitialising:
        guard let passphrase else { return .locked }
        try await vault.initialize(passphrase: passphrase)
        return .open
      case .needsPassphrase:
        guard let passphrase else { return .locked }
        try await vault.unlock(passphrase: passphrase)
        return .open
      }
    } catch  where error.takesAPerson {
      return .locked
    } catch {
      throw StartFailure(message: error.message, isStore: error.kind == .storeUnavailable)
    }
  }

  public struct StartFailure: Error, Sendable {
    public var message: String
    /// The disk said no, and not the vault.
    public var isStore: Bool
  }

  /// Serves until `shutDown()`; returns when everything in flight has ended.
  public func run() async {
    resumeWork()
    environment.signals.start { [weak self] in self?.happened($0) }
    await background.run()
    // Before the machine goes down: how long it ran counts in every window (docs/offline.md, Time).
    await vault.rememberTime()
    await vault.closeStore()
  }

  /// What was left when the agent ended, or the vault was locked.
  func resumeWork() {
    background.start { [revocations] in await revocations.resume(.due) }
    background.start { [erasures] in await erasures.resume() }
    background.start { [self] in try? await finishRotation() }
  }

  var decisions: PolicyDecisionPoint {
    PolicyDecisionPoint(
      accounts: accounts, shelf: policyCache, audit: audit, clock: environment.clock, entropy: environment.entropy)
  }

  var isShuttingDown: Bool { shuttingDown.load(ordering: .relaxed) }

  /// No new work; those who wait are told, exchanges in flight go on to their end, so that no answer is lost.
  public func shutDown() {
    guard !shuttingDown.exchange(true, ordering: .relaxed) else { return }
    environment.signals.stop()
    background.start { [self] in
      await signIns.closeAll()
      await accounts.tellShuttingDown()
      gate.close()
      background.stop()
    }
    onShutDown()
  }

  // MARK: what the machine tells

  private func happened(_ signal: SystemSignal) {
    switch signal {
    case .networkChanged:
      connectivity.networkChanged()
      connectivityMayHaveReturned()
    case .clockChanged: clockMayHaveChanged()
    case .sleeps: if locking.onSleep { lockedByTheMachine(.sleep) } else { environment.signals.readyToSleep() }
    case .screenLocked: if locking.onScreenLock { lockedByTheMachine(.screen) }
    }
  }

  /// A client or the machine says so: nobody need ask for what waited for a way.
  func connectivityMayHaveReturned() {
    connectivity.connectivityMayHaveReturned()
    accounts.reconnected()
    background.start { [revocations] in await revocations.resume(.unreached) }
  }

  /// The wall clock was set, or the machine slept: what slept through its time is due, and the network of before may
  /// be another one now.
  func clockMayHaveChanged() {
    time.clockMayHaveChanged()
    callerGrants.endWhoHasNone()
    accounts.clockChanged()
    connectivityMayHaveReturned()
  }

  /// For a provider that is being configured: its address was typed a moment ago, so that a request that finds no way
  /// says nothing of the network.
  func client(of provider: Provider) -> ProviderClient {
    ProviderClient(provider: provider, environment: environment, time: time)
  }

  // MARK: conversations

  public func begin(_ output: any ConnectionOutput) -> (any Conversation)? {
    let id = clients.withLock { clients -> UInt64? in
      guard clients.count < Limits.connections else { return nil }
      clients.count += 1
      clients.next += 1
      return clients.next - 1
    }
    return id.map { Connection(id: $0, output: output, agent: self) }
  }

  func connectionEnded() { clients.withLock { $0.count -= 1 } }
  var connectionCount: Int { clients.withLock { $0.count } }

  public var refusalLine: WireBytes {
    var object = AnswerObject.error(id: nil, .overloaded("connections"))
    object.byte(0x0A)
    return object.finish()
  }
}

/// A part that is made after those that need it. It is the agent's, and is not kept alive by them.
private final class Handle<Part: AnyObject & Sendable>: Sendable {
  private let part = Mutex<Weak>(Weak())
  private struct Weak: @unchecked Sendable { weak var part: Part? }

  var value: Part? {
    get { part.withLock { $0.part } }
    set { part.withLock { $0.part = newValue } }
  }
}
