package import AgentDecisions
package import AgentModel
internal import AgentOAuth
package import AgentPermissions
package import AgentPorts
package import AgentRecords
package import AgentSessions
package import AgentSignIn
package import AgentStore
package import AgentUpkeep
internal import JSONRPC
package import Secrets
internal import Synchronization

/// The agent without its wire: owns the vault, the accounts and the background work, and ends in order.
package final class AgentService: Sendable {
  package let environment: AgentEnvironment
  package let version: String
  /// A random id of this start: a client that sees another one knows that the agent was restarted.
  package let instance: String
  private let started: (wall: Timestamp, boot: BootInstant)
  /// The start, by the wall clock as it is set now.
  package var startedAt: Timestamp {
    environment.clock.wall(ago: environment.clock.boot() - started.boot, dated: started.wall)
  }
  package let background = BackgroundWork()
  /// Searches for the issuer of a URL, apart from `introductions`: a slow host must not block `provider.add`.
  package let searches = ConcurrencyLimit(most: 8, of: "searches for providers at one time")
  package let setup: ProviderSetup
  package let providerTests = ProviderTests()
  package let events: any EventPublishing
  package let vault: VaultActor
  /// Opens and closes the vault one at a time: an opening amid a closing would meet accounts that still give up what
  /// they had.
  let opening = AsyncMutex()
  package let idle: IdleWatch
  package let locking: LockingRules
  package let accounts: AccountDirectory
  package let signIns: SignInCoordinator
  package let secretAdmission: SecretAdmission
  package let machineAdmission: MachineAdmission
  let secretExpiry: SecretExpiryWatch
  package let revocations: RevocationWorker
  package let operations: OperationWorker
  package let policySource: PolicySourceWorker
  package let signOuts: SignOutCoordinator
  package let stepUpCoordinator: StepUpCoordinator
  package let audit: AuditWriter
  package let decisions: PolicyDecisionPoint
  package let authorizer: RequestAuthorizer
  package let grantRevocations: CallerGrantRevocations
  package let approvals: RequestApprovals
  package let access: AccessCoordinator
  package let backups: BackupCoordinator
  package let administrator: AdministratorWatch
  private let tables: AgentTables
  private let dependencies: AccountDependencies
  private let onShutDown: @Sendable () -> Void

  private let shuttingDown = Atomic(false)

  /// `ownerGrant`: every connection must bring a grant, and this is the person's own, which covers everything and is
  /// never stored here. Nil: programs of the agent's own user are trusted.
  ///
  /// `onShutDown` is called once, when `agent.shutdown` has been answered or `shutDown()` was called: the transport
  /// ends then.
  package init(
    store: sending any Store, keySource: (any KeySource)?, otherKeySources: [any KeySource] = [],
    anchor: (any RollbackAnchor)? = nil, environment: AgentEnvironment, version: String,
    instance: String, events: any EventPublishing, grantableMethods: [GrantableMethod], ownerGrant: Secret? = nil,
    documents: @escaping AdministratorWatch.Reader = { AdministratorContent(mark: $0.mark) },
    locking: LockingRules = LockingRules(), onShutDown: @escaping @Sendable () -> Void = {}
  ) {
    self.locking = locking
    self.environment = environment
    self.version = version
    self.instance = instance
    self.events = events
    self.onShutDown = onShutDown
    started = (environment.clock.wall(), environment.clock.boot())
    let vaultHandle = Handle<VaultActor>()
    let directory = Handle<AccountDirectory>()
    let expiry = Handle<SecretExpiryWatch>()
    let tables = AgentTables(
      clock: environment.clock, events: events, background: background, ownerGrant: ownerGrant,
      grantableMethods: grantableMethods, policySource: environment.policySource,
      rememberTime: { await vaultHandle.value?.rememberTime() },
      timeWasSet: { [background] provider in
        directory.value?.clockChanged(of: provider)
        background.start { await expiry.value?.look() }
      })
    self.tables = tables
    let erasures = ErasureWorker(clock: environment.clock, background: background)
    let settling = Alarm(clock: environment.clock, background: background)
    vault = VaultActor(
      store: store, anchor: anchor,
      dependencies: VaultDependencies(
        clock: environment.clock, entropy: environment.entropy, protection: keySource?.protection ?? "passphrase",
        keySources: (keySource.map { [$0] } ?? []) + otherKeySources, kinds: AgentTables.kinds,
        kept: AgentTables.kept, tables: tables.published, watchers: tables.watchers, events: events,
        repeatsBegan: { [clock = environment.clock] in
          settling.set(clock.boot() + AuditRecorder.repeatPause) {
            guard let vault = vaultHandle.value else { return nil }
            return await AuditRecorder.settleRepeats(for: vault)
          }
        },
        anchorFellBehind: { [log = environment.log] in log.log(.warning, "rollback anchor not written", []) },
        erasureIsHeldUp: { [background] holdUp, vault in
          background.start { await erasures.retry(after: holdUp, in: vault) }
        }))
    vaultHandle.value = vault
    stepUpCoordinator = StepUpCoordinator(vault: vault, methods: [PINMethod()] + environment.stepUpMethods)
    audit = AuditWriter(vault: vault)
    let requestPrompts = RequestPrompts(
      vault: vault, stepUps: tables.stepUps, prompter: environment.prompter, clock: environment.clock)
    grantRevocations = CallerGrantRevocations(
      vault: vault, table: tables.callerGrants, clock: environment.clock, background: background)
    let approvals = RequestApprovals(
      vault: vault, grants: tables.callerGrants, audit: audit, events: events, clock: environment.clock,
      entropy: environment.entropy, background: background)
    self.approvals = approvals
    let access = AccessCoordinator(
      vault: vault, grants: tables.callerGrants, events: events, clock: environment.clock,
      entropy: environment.entropy, background: background)
    self.access = access
    tables.callerGrants.whenGrantsEnd { [weak approvals, weak access] in
      approvals?.grantsMayHaveEnded()
      access?.grantsMayHaveEnded()
    }
    let revoker = Handle<RevocationWorker>()
    let operationHandle = Handle<OperationWorker>()
    dependencies = AccountDependencies(
      vault: vault, tokenCache: tables.tokenCache, validTokens: tables.validTokens, decisions: tables.decisions,
      time: tables.time, stepUps: tables.stepUps, background: background, events: events, environment: environment,
      offlineWindow: { [policyCache = tables.policyCache] in policyCache.longestOfflineWindow(of: $0, in: $1) },
      later: AccountDependencies.LaterParts(
        revoke: { [background] entry in background.start { await revoker.value?.begin(entry) } },
        drain: { await revoker.value?.drain($0, of: $1) },
        hold: { await revoker.value?.hold($0) ?? 0 }, release: { await revoker.value?.release($0, of: $1) },
        operationsMayGo: { [background] id in background.start { await operationHandle.value?.accountReturned(id) } },
        networkIsThere: { [background] in background.start { await operationHandle.value?.networkIsThere() } }))
    accounts = AccountDirectory(dependencies: dependencies)
    directory.value = accounts
    signIns = SignInCoordinator(dependencies: dependencies, accounts: accounts)
    secretExpiry = SecretExpiryWatch(dependencies: dependencies, accounts: accounts)
    expiry.value = secretExpiry
    secretAdmission = SecretAdmission(signIns, expiry: secretExpiry)
    machineAdmission = MachineAdmission(signIns)
    backups = BackupCoordinator(
      vault: vault, accounts: accounts, events: events, files: environment.backups, clock: environment.clock)
    revocations = RevocationWorker(dependencies: dependencies)
    revoker.value = revocations
    setup = ProviderSetup(
      environment: environment, vault: vault, time: tables.time, background: background, revocations: revocations)
    administrator = AdministratorWatch(
      tables.administrator, policies: tables.policyCache, dependencies: dependencies, accounts: accounts,
      revocations: revocations, read: documents)
    signOuts = SignOutCoordinator(
      dependencies: dependencies, accounts: accounts, revocations: revocations)
    decisions = PolicyDecisionPoint(
      accounts: accounts, policyCache: tables.policyCache, grants: tables.callerGrants, approvals: approvals,
      routes: tables.requestRoutes, audit: audit, clock: environment.clock, entropy: environment.entropy)
    authorizer = RequestAuthorizer(decisions: decisions, prompts: requestPrompts, grants: tables.callerGrants)
    operations = OperationWorker(
      dependencies: dependencies, accounts: accounts, revocations: revocations, decisions: decisions,
      attempts: tables.operationAttempts)
    operationHandle.value = operations
    policySource = PolicySourceWorker(
      vault: vault, environment: environment, background: background, events: events)
    let whole = Handle<AgentService>()
    idle = IdleWatch(after: locking.idle, clock: environment.clock, background: background) {
      await whole.value?.lock(because: .idle)
    }
    whole.value = self
  }

  // MARK: parts of `tables` and of `dependencies`

  package var tokenCache: TokenCache { tables.tokenCache }
  package var decisionCache: DecisionCache { tables.decisions }
  package var stepUps: StepUps { tables.stepUps }
  package var callerGrants: CallerGrantTable { tables.callerGrants }
  package var time: TimeKeeper { tables.time }
  package var connectivity: ConnectivityState { dependencies.connectivity }
  package var gate: ExchangeGate { dependencies.gate }
  package var introductions: ExchangeGate { dependencies.introductions }
  package var demands: LastDemands { dependencies.demands }

  // MARK: life

  /// Opens the vault if that needs no person; false if a person must give the passphrase or create the vault.
  ///
  /// - Parameter acceptingOldStore: the person says that a store which is older than its anchor is the only one: every
  ///   account in it is signed out, and no token of it is sent.
  package func open(
    protection: String, passphrase: Secret? = nil, acceptingOldStore: Bool = false
  ) async throws(AgentFailure) -> Bool {
    defer { if tokenCache.unlockGeneration != nil { idle.opened() } }
    // Remove what an interrupted backup left.
    environment.backups.removeAll()
    administrator.begin()
    do throws(AgentFailure) {
      switch try await vault.open(protection: protection, acceptingOldStore: acceptingOldStore) {
      case .open: return true
      case .needsInitialising:
        guard let passphrase else { return false }
        try await vault.initialize(passphrase: passphrase)
        return true
      case .needsPassphrase:
        guard let passphrase else { return false }
        try await vault.unlock(passphrase: passphrase)
        return true
      }
    } catch  where error.takesAPerson {
      return false
    }
  }

  /// Serves until `shutDown()`; returns when everything in flight has ended.
  package func run() async {
    resumeWork()
    administrator.watch()
    environment.signals.start { [weak self] in self?.happened($0) }
    await background.run()
    // Before the machine shuts down: its uptime counts in every offline window (docs/offline.md, Time).
    await vault.rememberTime()
    await vault.closeStore()
  }

  /// Resumes work that an end of the agent or a lock of the vault interrupted.
  func resumeWork() {
    background.start { [background, signIns, revocations, operations] in
      // Before any revocation is sent, also one that an operation of its person sends first.
      await signIns.holdForImports()
      background.start { await revocations.resume(.due) }
      background.start { await signIns.resumeImports() }
      background.start { await operations.resume() }
    }
    background.start { [secretExpiry] in await secretExpiry.look() }
    background.start { [policySource] in await policySource.resume() }
    background.start { [self] in try? await finishRotation() }
  }

  package var passes: RequestPasses {
    RequestPasses(decisions: decisions, grants: callerGrants, vault: vault)
  }

  package var diagnosis: AgentDiagnosis {
    AgentDiagnosis(
      of: vault, environment, accounts: accounts, policySource: policySource, administrator: administrator)
  }

  /// Looks at the administrator's files for a caller that is about to be told what they concern.
  package func lookAgain() async { await administrator.lookAgain() }

  package var isShuttingDown: Bool { shuttingDown.load(ordering: .relaxed) }

  /// Accepts no new work. Exchanges in flight run to their end and answer their callers, so that no answer is lost; those
  /// that stand in line send nothing, and their callers are refused.
  package func shutDown() {
    guard !shuttingDown.exchange(true, ordering: .relaxed) else { return }
    environment.signals.stop()
    approvals.shutDown()
    background.start { [self] in
      await signIns.closeAll()
      operations.shutDown()
      gate.close()
      introductions.close()
      background.stop()
    }
    onShutDown()
  }

  // MARK: signals of the machine

  private func happened(_ signal: SystemSignal) {
    switch signal {
    case .networkChanged:
      connectivity.networkChanged()
      connectivityMayHaveReturned()
    case .clockChanged: clockMayHaveChanged()
    case .sleeps: if locking.onSleep { lockedByTheMachine(.sleep) } else { environment.signals.readyToSleep() }
    case .programRemoved:
      environment.log.log(.notice, "the program was removed", [])
      shutDown()
    case .socketRemoved:
      environment.log.log(.notice, "the socket was removed", [])
      shutDown()
    case .screenLocked: if locking.onScreenLock { lockedByTheMachine(.screen) }
    }
  }

  /// A client or the machine reports a network: retries the work that waited for one, without a new request from a
  /// caller.
  package func connectivityMayHaveReturned() {
    environment.http.closeConnections(of: nil)
    connectivity.connectivityMayHaveReturned()
    gate.reconnected()
    accounts.reconnected()
    background.start { [revocations] in await revocations.resume(.unreached) }
    background.start { [signIns] in await signIns.resumeImports() }
    background.start { [operations] in await operations.reconnected() }
    background.start { [policySource] in await policySource.mayBeReachable() }
  }

  /// The wall clock was set, or the machine slept: timers may be overdue, and the network may have changed.
  func clockMayHaveChanged() {
    time.clockMayHaveChanged()
    callerGrants.endConnectionsWithoutGrant()
    accounts.clockChanged()
    background.start { [secretExpiry] in await secretExpiry.look() }
    connectivityMayHaveReturned()
  }
}
