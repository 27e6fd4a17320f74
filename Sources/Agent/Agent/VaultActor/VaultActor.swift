internal import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentPorts
internal import AgentVault
package import Secrets

/// The single owner of the store. Reads and commits for every feature, locks and unlocks.
///
/// A plan and its commit run without an await in between, so that memory always says what the disk says: no other
/// caller comes between a check and its write.
package actor VaultActor {
  private let store: any Store
  nonisolated let dependencies: VaultDependencies
  private var opening: VaultOpening
  private var state = VaultState.locked(LockedVault())
  /// Counts sign-outs, erasures and new PINs.
  private var withdrawalCount: UInt64 = 0

  package init(store: sending any Store, anchor: sending (any RollbackAnchor)?, dependencies: VaultDependencies) {
    self.store = store
    self.dependencies = dependencies
    opening = VaultOpening(store: store, anchor: RollbackGuard(anchor), dependencies: dependencies)
  }

  // MARK: reading and committing

  /// Nil while the vault is locked.
  private var vault: OpenVault? { if case .open(let vault) = state { vault } else { nil } }

  package var isOpen: Bool { vault != nil }

  private func unlocked() throws(AgentFailure) -> OpenVault {
    guard let vault else { throw .locked }
    return vault
  }

  /// Answers a question from the open vault. Throws `.locked` while it is locked.
  package func read<Result: Sendable>(
    _ body: @Sendable (OpenVault) throws(AgentFailure) -> Result
  ) throws(AgentFailure) -> Result {
    try body(unlocked())
  }

  /// Commits what a feature planned: durable, and in memory, when it returns. Throws `.locked` while the vault is locked.
  package func commit<Result: Sendable>(
    _ plan: @Sendable (OpenVault) throws(AgentFailure) -> ChangeSet<Result>
  ) throws(AgentFailure) -> Result {
    let vault = try unlocked()
    return try commit(plan(vault), to: vault)
  }

  /// Commits the plan of work that began earlier. Nil, and nothing is done, if the vault was locked meanwhile.
  @discardableResult
  func commitIfOpen<Result: Sendable>(
    _ plan: @Sendable (OpenVault) throws(AgentFailure) -> ChangeSet<Result>
  ) throws(AgentFailure) -> Result? {
    guard let vault else { return nil }
    return try commit(plan(vault), to: vault)
  }

  /// Commits the plan of work that brought a secret. Nil if the vault was locked meanwhile: then the record waits in
  /// the inbox for the unlocking.
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

  /// Leaves a record in the inbox; nothing while the vault is open.
  func leaveIfLocked(_ record: PendingRecord) throws(AgentFailure) {
    if case .locked(let locked) = state { try locked.leave(record, name: dependencies.entropy.bytes(16), in: store) }
  }

  package func requireOpen() throws(AgentFailure) { _ = try unlocked() }

  /// The account that a selector names now.
  package func profile(_ selector: AccountSelector) throws(AgentFailure) -> AccountProfile {
    try unlocked().directory.profile(selector)
  }

  package func provider(named name: String) throws(AgentFailure) -> Provider {
    try unlocked().providers.provider(named: name)
  }

  private func commit<Result>(
    _ changes: ChangeSet<Result>, to vault: OpenVault
  ) throws(AgentFailure) -> Result {
    if changes.isWithdrawal { withdrawalCount += 1 }
    let records = changes.records + vault.erasures.notes(of: changes.erases)
    if !records.isEmpty || !changes.writes.isEmpty {
      try vault.withRecords(of: changes.account) { (sealed) throws(VaultFailure) in
        try sealed.apply(records, with: changes.writes)
      }
    }
    vault.remember(changes.memory)
    var erased: [AccountID] = []
    if changes.erases != nil, let finish = try? vault.erasures.finish() {
      erased = (try? commit(finish, to: vault)) ?? []
    }
    return changes.result(erased)
  }

  // MARK: opening

  /// Opens the vault without a person where that is possible; makes it where the protection needs none.
  package func open(protection: String, acceptingOldStore: Bool = false) throws(AgentFailure) -> OpenOutcome {
    switch try opening.open(protection: protection, acceptingOldStore: acceptingOldStore) {
    case .open(let vault):
      try enter(vault)
      return .open
    case .needsInitialising: return .needsInitialising
    case .needsPassphrase: return .needsPassphrase
    }
  }

  /// Opens the vault as it was opened at the start; false if that takes a person.
  package func openAgain() throws(AgentFailure) -> Bool {
    guard let vault = try opening.openAgain() else { return false }
    try enter(vault)
    return true
  }

  /// Makes the vault under a passphrase. Once: an existing vault is never made again.
  package func initialize(passphrase: Secret) throws(AgentFailure) {
    try enter(opening.initialize(passphrase: passphrase))
  }

  /// Unlocks by a passphrase; the wrong one changes nothing, and after a few of them the next has to wait.
  package func unlock(passphrase: Secret) throws(AgentFailure) {
    guard !isOpen else { return }
    try enter(opening.unlock(passphrase: passphrase))
  }

  /// From here on the vault is open. What came while it was locked finds its place first: a token that is asked for
  /// before would be an old one.
  private func enter(_ vault: OpenVault) throws(AgentFailure) {
    state = .open(vault)
    do throws(AgentFailure) {
      try commit(InboxDrain(vault).drain(), to: vault)
    } catch {
      lock(isCertain: false)
      throw error
    }
    dependencies.tables.open(vault)
  }

  /// Records in the audit log which client opened or made the vault, before the agent answers. If that fails the vault
  /// is locked again.
  func noteOpening(_ event: AuditEntry.Event) throws(AgentFailure) {
    do throws(AgentFailure) {
      try commit { (vault) throws(AgentFailure) in ChangeSet([vault.audited(event)]) }
    } catch {
      lock()
      throw error
    }
  }

  // MARK: locking

  /// Locks the vault; false if it was locked already. A disk that fails must not keep it open: the audit entry is
  /// written if it can be.
  package func lock(because reason: LockReason) -> Bool {
    guard isOpen else { return false }
    try? commit { (vault) throws(AgentFailure) in ChangeSet([vault.audited(.agentLock, .reason(reason.rawValue))]) }
    lock()
    return true
  }

  /// Forgets every key and everything that was opened with one.
  ///
  /// - Parameter isCertain: false after a commit of which it is unknown whether it landed: which inbox is the current
  ///   one is known at the next opening, and what comes until then stays in memory.
  private func lock(isCertain: Bool = true) {
    rememberTime()
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

  /// A transaction of its own, for the rare moments when the time's mark moved and nothing else did. If it can't be
  /// written, the previous mark stands, which is what a restart would find.
  func rememberTime() {
    _ = try? commitIfOpen { (vault) throws(AgentFailure) in ChangeSet(vault.trustedTime.changes) }
  }

  // MARK: another root key

  /// Begins to seal new records under another root key, once it has answered; the existing ones follow (`rotateNext`).
  /// A rotation that is under way goes on. Returns the epoch of the new key.
  func beginRotation() throws(AgentFailure) -> UInt32 {
    let vault = try unlocked()
    guard let rotation = try vault.keySlots.rewrapped() else { return vault.records.keys.epoch }
    do throws(AgentFailure) {
      try vault.keySlots.begin(rotation)
    } catch {
      // The commit may have succeeded all the same: the store may be under a key now that this vault does not have.
      if !vault.keySlots.wrapKnownRootKey { lock(isCertain: false) }
      throw error
    }
    return rotation.keys.epoch
  }

  /// Rotates one more partition; nil when none is left, and the old root key is gone.
  func rotateNext(after last: PartitionID?) throws(AgentFailure) -> PartitionID? {
    try unlocked().keySlots.rotateNext(after: last)
  }

  // MARK: locked or not

  /// The answer to `agent.status`, also for a locked vault. `grant` limits it to the accounts that it covers.
  package func status(within grant: EffectiveGrant? = nil) throws(AgentFailure) -> VaultStatus {
    let slots = try opening.slots()
    return try VaultStatus(vault, slots: slots, keySources: dependencies.keySources, within: grant)
  }

  /// Which kinds of key open the vault.
  func keySlotProtections() throws(AgentFailure) -> Set<String> { Set(try opening.slots().map(\.protection)) }

  /// The vault as a whole, locked or not.
  func diagnoseVault() -> Findings {
    do throws(AgentFailure) {
      return VaultDiagnosis.findings(of: try status(), vault)
    } catch {
      var findings = Findings()
      findings.add(error, "vault")
      return findings
    }
  }

  /// The database's own check of itself.
  func integrityProblems() throws(StoreFailure) -> [String] { try store.integrityProblems() }

  /// The counters that must not change while a backup is made.
  var backupMoment: BackupMoment {
    BackupMoment(unlockGeneration: opening.unlockGeneration, withdrawalCount: withdrawalCount)
  }
}
