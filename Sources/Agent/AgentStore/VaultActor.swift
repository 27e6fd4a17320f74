internal import AgentCore
package import AgentModel
package import AgentPorts
internal import AgentVault
package import Secrets

/// The single owner of the store. Reads and commits for every feature, locks and unlocks.
///
/// A plan and its commit run without an await in between, so that memory and disk always agree, and no other caller
/// comes between a check and its write.
package actor VaultActor {
  package let store: any Store
  package nonisolated let dependencies: VaultDependencies
  private var opening: VaultOpening
  private let restoreThrottle: PassphraseThrottle
  private var state = VaultState.locked(LockedVault())
  /// Counts sign-outs, erasures and new PINs.
  private var withdrawalCount: UInt64 = 0

  package init(store: sending any Store, anchor: sending (any RollbackAnchor)?, dependencies: VaultDependencies) {
    self.store = store
    self.dependencies = dependencies
    restoreThrottle = PassphraseThrottle(.restore, store: store, clock: dependencies.clock)
    let rollbackGuard = RollbackGuard(anchor, fellBehind: dependencies.anchorFellBehind)
    opening = VaultOpening(store: store, anchor: rollbackGuard, dependencies: dependencies)
  }

  // MARK: reading and committing

  /// Nil while the vault is locked.
  package var vault: OpenVault? { if case .open(let vault) = state { vault } else { nil } }

  package var isOpen: Bool { vault != nil }

  package func unlocked() throws(AgentFailure) -> OpenVault {
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
  package func commitIfOpen<Result: Sendable>(
    _ plan: @Sendable (OpenVault) throws(AgentFailure) -> ChangeSet<Result>
  ) throws(AgentFailure) -> Result? {
    guard let vault else { return nil }
    return try commit(plan(vault), to: vault)
  }

  /// Commits the plan of work that brought a secret. Returns nil if the vault was locked meanwhile: then the record
  /// waits in the inbox for the unlock.
  package func commit<Result: Sendable>(
    orLeave record: any InboxRecord, _ plan: @Sendable (OpenVault) throws(AgentFailure) -> ChangeSet<Result>
  ) throws(AgentFailure) -> Result? {
    switch state {
    case .open(let vault): return try commit(plan(vault), to: vault)
    case .locked(let locked):
      try locked.leave(record, name: dependencies.entropy.bytes(16), in: store)
      return nil
    }
  }

  /// Puts a record into the inbox while the vault is locked; does nothing while it is open.
  package func leaveIfLocked(_ record: any InboxRecord) throws(AgentFailure) {
    if case .locked(let locked) = state { try locked.leave(record, name: dependencies.entropy.bytes(16), in: store) }
  }

  package func requireOpen() throws(AgentFailure) { _ = try unlocked() }

  package func commit<Result>(
    _ changes: ChangeSet<Result>, to vault: OpenVault
  ) throws(AgentFailure) -> Result {
    var records = changes.records
    for watcher in dependencies.watchers { records = try watcher.completed(records, in: vault, for: self) }
    records += vault.erasures.notes(of: changes.erases)
    if changes.isWithdrawal { withdrawalCount += 1 }
    if !records.isEmpty || !changes.writes.isEmpty {
      try vault.withRecords(of: changes.account) { (sealed) throws(VaultFailure) in
        try sealed.apply(records, with: changes.writes, durability: changes.durability, room: changes.room)
      }
    }
    for watcher in dependencies.watchers { watcher.committed() }
    for change in changes.memory { change.apply(vault) }
    var erased: [AccountID] = []
    if changes.erases != nil {
      let outcome = finishErasures(in: vault)
      erased = outcome.erased
      outcome.heldUpBy.map { dependencies.erasureIsHeldUp($0, self) }
      // A sign-out tells what it erased itself, after it has told that the account is signed out.
      if case .values? = changes.erases { tell(erased) }
    }
    return changes.result(erased)
  }

  // MARK: erasures

  /// Finishes the outstanding erasures. Returns the accounts whose last data is erased now.
  private func finishErasures(in vault: OpenVault) -> (erased: [AccountID], heldUpBy: ErasureHoldUp?) {
    do throws(AgentFailure) {
      guard let finish = try vault.erasures.finish() else { return ([], .reader) }
      return (try commit(finish, to: vault), nil)
    } catch {
      return ([], error.storeFailure == .busy ? .reader : .failure)
    }
  }

  /// Tries the outstanding erasures, of earlier commits or an earlier process, and publishes what is erased. Returns nil if
  /// none is left, or the vault is locked: then its unlocking tries them.
  package func resumeErasures() -> ErasureHoldUp? {
    guard let vault else { return nil }
    let outcome = finishErasures(in: vault)
    tell(outcome.erased)
    return outcome.heldUpBy
  }

  private func tell(_ erased: [AccountID]) {
    for account in erased { dependencies.events.publish(.accountErased, account: account) }
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

  /// Throws `.anotherStore` if `open` would, without opening.
  package func requireOwnStore() throws(AgentFailure) { try opening.requireOwnStore() }

  /// Opens the vault as at the start; false if that needs a person. An open vault stays as it is.
  package func openAgain() throws(AgentFailure) -> Bool {
    guard !isOpen else { return true }
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
  package func beginRestoreAttempt() -> Milliseconds? { restoreThrottle.begin() }

  /// The outcome of the attempt. Returns the time until the next one.
  @discardableResult
  package func endRestoreAttempt(wasWrong: Bool) -> Milliseconds {
    guard wasWrong else {
      restoreThrottle.wasNotWrong()
      return .zero
    }
    return restoreThrottle.wasWrong()
  }

  /// Makes `vault` the open vault. What its features have to do first is done before a caller reads it.
  private func enter(_ vault: OpenVault) throws(AgentFailure) {
    state = .open(vault)
    do throws(AgentFailure) {
      for watcher in dependencies.watchers { try watcher.opened(vault, for: self) }
    } catch {
      lock(isCertain: false)
      throw error
    }
    // An earlier process may have died amid an erasure.
    resumeErasures().map { dependencies.erasureIsHeldUp($0, self) }
    dependencies.tables.open(vault)
  }

  // MARK: locking

  /// Drops every key and all decrypted data.
  ///
  /// - Parameter isCertain: false after a commit of which it is unknown whether it landed: which inbox is the current
  ///   one is known at the next opening, and records that come until then stay in memory.
  package func lock(isCertain: Bool = true) {
    if let vault {
      for watcher in dependencies.watchers { watcher.locking(vault, for: self) }
    }
    switch state {
    case .open(let vault): state = .locked(LockedVault(inbox: isCertain ? vault.inbox : nil))
    case .locked(let locked): state = .locked(isCertain ? locked : LockedVault())
    }
    dependencies.tables.close()
  }

  package func closeStore() {
    dependencies.tables.end()
    lock()
    store.close()
  }

  // MARK: locked or not

  /// The key slots, also of a locked vault.
  package func slots() throws(AgentFailure) -> [KeySlotRow] { try opening.slots() }

  /// The counters that must not change while a backup is made.
  package var backupMoment: BackupMoment {
    BackupMoment(unlockGeneration: opening.unlockGeneration, withdrawalCount: withdrawalCount)
  }
}
