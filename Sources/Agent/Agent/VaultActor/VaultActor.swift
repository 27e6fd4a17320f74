internal import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentPorts
internal import AgentVault
package import Secrets

/// The single owner of the store. Reads and commits for every feature, locks and unlocks.
///
/// A plan and its commit run without an await in between, so that memory and disk always agree, and no other caller
/// comes between a check and its write.
package actor VaultActor {
  let store: any Store
  nonisolated let dependencies: VaultDependencies
  private var opening: VaultOpening
  private let restoreThrottle: PassphraseThrottle
  private var state = VaultState.locked(LockedVault())
  /// Counts sign-outs, erasures and new PINs.
  private var withdrawalCount: UInt64 = 0
  let recorder = AuditRecorder()
  /// Entries about openings and lockings that a full disk did not take: the next change with an entry brings them.
  private(set) var missedEntries: [VaultChange] = []
  /// Beyond these the oldest are lost.
  private static let mostMissedEntries = 16

  package init(store: sending any Store, anchor: sending (any RollbackAnchor)?, dependencies: VaultDependencies) {
    self.store = store
    self.dependencies = dependencies
    restoreThrottle = PassphraseThrottle(.restore, store: store, clock: dependencies.clock)
    opening = VaultOpening(store: store, anchor: RollbackGuard(anchor), dependencies: dependencies)
  }

  // MARK: reading and committing

  /// Nil while the vault is locked.
  var vault: OpenVault? { if case .open(let vault) = state { vault } else { nil } }

  package var isOpen: Bool { vault != nil }

  func unlocked() throws(AgentFailure) -> OpenVault {
    guard let vault else { throw .locked }
    return vault
  }

  /// Reads from the open vault. Throws `.locked` while it is locked.
  package func read<Result: Sendable>(
    _ body: @Sendable (OpenVault) throws(AgentFailure) -> Result
  ) throws(AgentFailure) -> Result {
    try body(unlocked())
  }

  /// Commits a feature's plan. On return it is durable and in memory. Throws `.locked` while the vault is locked.
  package func commit<Result: Sendable>(
    _ plan: @Sendable (OpenVault) throws(AgentFailure) -> ChangeSet<Result>
  ) throws(AgentFailure) -> Result {
    let vault = try unlocked()
    return try commit(plan(vault), to: vault)
  }

  /// Commits the plan of work that began earlier. Returns nil without a commit if the vault was locked meanwhile.
  @discardableResult
  func commitIfOpen<Result: Sendable>(
    _ plan: @Sendable (OpenVault) throws(AgentFailure) -> ChangeSet<Result>
  ) throws(AgentFailure) -> Result? {
    guard let vault else { return nil }
    return try commit(plan(vault), to: vault)
  }

  /// Commits the plan of work that brought a secret. Returns nil if the vault was locked meanwhile: then the record
  /// waits in the inbox for the unlock.
  package func commit<Result: Sendable>(
    orLeave record: PendingRecord, _ plan: @Sendable (OpenVault) throws(AgentFailure) -> ChangeSet<Result>
  ) throws(AgentFailure) -> Result? {
    switch state {
    case .open(let vault): return try commit(plan(vault), to: vault)
    case .locked(let locked):
      try locked.leave(record, name: dependencies.entropy.bytes(16), in: store)
      return nil
    }
  }

  /// Puts a record into the inbox while the vault is locked; does nothing while it is open.
  func leaveIfLocked(_ record: PendingRecord) throws(AgentFailure) {
    if case .locked(let locked) = state { try locked.leave(record, name: dependencies.entropy.bytes(16), in: store) }
  }

  package func requireOpen() throws(AgentFailure) { _ = try unlocked() }

  /// The account that a selector names now.
  package func profile(_ selector: AccountSelector) throws(AgentFailure) -> AccountProfile {
    try unlocked().directory.profile(selector)
  }

  /// The provider that the account's tokens may be sent to now.
  package func receiver(ofTokensOf id: AccountID) throws(AgentFailure) -> Provider {
    try unlocked().providers.receiver(ofTokensOf: id)
  }

  /// The same for requests to resource servers, which no request of a signed-out account reaches any more.
  func requestRoute(of id: AccountID) throws(AgentFailure) -> RequestRoutes.Route {
    let vault = try unlocked()
    guard try vault.directory.profile(.id(id)).signInStatus == .signedIn else { throw .signedOut(id) }
    let route = RequestRoutes.Route(try vault.providers.receiver(ofTokensOf: id))
    dependencies.tables.requestRoutes.put(route, of: id)
    return route
  }

  package func provider(named name: String) throws(AgentFailure) -> Provider {
    try unlocked().providers.provider(named: name)
  }

  func commit<Result>(
    _ changes: ChangeSet<Result>, to vault: OpenVault
  ) throws(AgentFailure) -> Result {
    let missed = changes.records.contains { $0.auditEntry != nil } ? missedEntries : []
    // No repeat of a decision from before stands after them.
    if !missed.isEmpty { dependencies.tables.decisions.withdrawAll() }
    let records =
      try missed + recorder.audited(changes.records, in: vault, for: self) + vault.erasures.notes(of: changes.erases)
    if changes.isWithdrawal { withdrawalCount += 1 }
    if !records.isEmpty || !changes.writes.isEmpty {
      try vault.withRecords(of: changes.account) { (sealed) throws(VaultFailure) in
        try sealed.apply(records, with: changes.writes, durability: changes.durability, room: changes.room)
      }
    }
    if !missed.isEmpty { missedEntries = [] }
    vault.remember(changes.memory)
    var erased: [AccountID] = []
    if changes.erases != nil, let finish = try? vault.erasures.finish() {
      erased = (try? commit(finish, to: vault)) ?? []
    }
    return changes.result(erased)
  }

  // MARK: opening

  /// Opens the vault if that needs no person, or creates it if its protection needs none.
  package func open(protection: String, acceptingOldStore: Bool = false) throws(AgentFailure) -> OpenOutcome {
    switch try opening.open(protection: protection, acceptingOldStore: acceptingOldStore) {
    case .open(let vault):
      try enter(vault)
      return .open
    case .needsInitialising: return .needsInitialising
    case .needsPassphrase: return .needsPassphrase
    }
  }

  /// Opens the vault as at the start; false if that needs a person.
  package func openAgain() throws(AgentFailure) -> Bool {
    guard let vault = try opening.openAgain() else { return false }
    try enter(vault)
    return true
  }

  /// Creates the vault under a passphrase. An existing vault is never replaced.
  package func initialize(passphrase: Secret) throws(AgentFailure) {
    try enter(opening.initialize(passphrase: passphrase))
  }

  /// Unlocks by a passphrase. A wrong one changes nothing; after a few wrong ones the next attempt has to wait.
  package func unlock(passphrase: Secret) throws(AgentFailure) {
    guard !isOpen else { return }
    try enter(opening.unlock(passphrase: passphrase))
  }

  /// The time until a passphrase is judged again, after wrong ones of this process or an earlier one; nil if it is judged
  /// now.
  package var pauseBeforePassphrase: Milliseconds? { opening.throttle.pause() }

  /// Counts an attempt at a backup's passphrase. Returns the time to wait if it is not allowed yet.
  func beginRestoreAttempt() -> Milliseconds? { restoreThrottle.begin() }

  /// The outcome of the attempt. Returns the time until the next one.
  @discardableResult
  func endRestoreAttempt(wasWrong: Bool) -> Milliseconds {
    guard wasWrong else {
      restoreThrottle.wasNotWrong()
      return .zero
    }
    return restoreThrottle.wasWrong()
  }

  /// Makes `vault` the open vault. Drains the inbox first, so that no caller gets an older token than the inbox holds.
  private func enter(_ vault: OpenVault) throws(AgentFailure) {
    state = .open(vault)
    do throws(AgentFailure) {
      try commit(InboxDrain(vault).drain(), to: vault)
      recorder.recoverRepeats(vault, for: self)
    } catch {
      lock(isCertain: false)
      throw error
    }
    reconcile()
    dependencies.tables.open(vault)
  }

  /// Brings the providers, and the policies that are kept, in step with the administrator's files. A failing disk keeps no person out: what the vault
  /// knows stays, and `AdministratorTable` tells it.
  ///
  /// - Parameter isForAccounts: the files are as they were, and only accounts may have gone: reads and writes no policy.
  @discardableResult
  package func reconcile(isForAccounts: Bool = false) -> ManagedProviderChanges {
    let table = dependencies.tables.administrator
    do throws(AgentFailure) {
      if !isForAccounts {
        let kept = try commitIfOpen { vault throws(AgentFailure) in .unchanged(try vault.administratorPolicies.all()) }
        if table.complete(with: kept ?? []) { dependencies.tables.policyCache.setManaged(table.laid) }
      }
      let laid = table.laid
      let changes = try commitIfOpen { vault throws(AgentFailure) in
        var changes = try vault.providers.reconciled(with: laid)
        if !isForAccounts { changes.records += try vault.administratorPolicies.keeping(laid.policies) }
        return changes
      }
      if let changes { table.reconciled(changes) }
      return changes ?? ManagedProviderChanges()
    } catch {
      table.failed(error)
      return ManagedProviderChanges()
    }
  }

  /// Records in the audit log which client opened or created the vault, before the agent answers. If that fails, locks
  /// the vault again; but a full disk keeps no person out of an existing one (`missedEntries`).
  func noteOpening(_ event: AuditEntry.Event) throws(AgentFailure) {
    do throws(AgentFailure) {
      try note(dependencies.audited(event))
    } catch {
      if event == .agentUnlock, error.storeFailure == .full { return }
      lock()
      throw error
    }
  }

  /// Commits an entry about the vault itself. One that a full disk refuses is kept for a later commit.
  private func note(_ entry: VaultChange) throws(AgentFailure) {
    do throws(AgentFailure) {
      try commit { _ throws(AgentFailure) in ChangeSet([entry]).onlyIntoFreeRoom }
    } catch {
      if error.storeFailure == .full {
        missedEntries = (missedEntries + [entry]).suffix(Self.mostMissedEntries)
      }
      throw error
    }
  }

  // MARK: locking

  /// Locks the vault; false if it was locked already. Locks also if the audit entry can't be written: a failing disk
  /// must not keep the vault open.
  package func lock(because reason: LockReason) -> Bool {
    guard isOpen else { return false }
    try? note(dependencies.audited(.agentLock, [.reason(reason.rawValue)]))
    lock()
    return true
  }

  /// Drops every key and all decrypted data.
  ///
  /// - Parameter isCertain: false after a commit of which it is unknown whether it landed: which inbox is the current
  ///   one is known at the next opening, and records that come until then stay in memory.
  func lock(isCertain: Bool = true) {
    rememberTime()
    recorder.endRepeats(for: self)
    switch state {
    case .open(let vault): state = .locked(LockedVault(inbox: isCertain ? vault.inbox : nil))
    case .locked(let locked): state = .locked(isCertain ? locked : LockedVault())
    }
    dependencies.tables.clear()
  }

  func closeStore() {
    dependencies.tables.stepUps.end()
    lock()
    store.close()
  }

  /// Stores the time record in a transaction of its own, for the rare case that nothing else is committed with it. If
  /// the write fails, the previous record stays, which a restart would find.
  func rememberTime() {
    _ = try? commitIfOpen { (vault) throws(AgentFailure) in ChangeSet(vault.trustedTime.changes) }
  }

  // MARK: locked or not

  /// The answer to `agent.status`, also for a locked vault. `grant` limits it to the accounts that it covers.
  package func status(within grant: EffectiveGrant? = nil) throws(AgentFailure) -> VaultStatus {
    let slots = try opening.slots()
    return try VaultStatus(vault, slots: slots, keySources: dependencies.keySources, within: grant)
  }

  /// The counters that must not change while a backup is made.
  var backupMoment: BackupMoment {
    BackupMoment(unlockGeneration: opening.unlockGeneration, withdrawalCount: withdrawalCount)
  }
}
