internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import Secrets

/// Owns the store and everything that is durable: who there is, which providers, who is active.
///
/// Every change is made and committed without an await in between, so that what is in memory is always what is on
/// the disk: a check and its write can't be parted by another caller.
actor VaultActor {
  let store: any Store
  /// What opens a slot without a person, the one that was chosen at the start first.
  let keySources: [any KeySource]
  private let witness: RollbackGuard
  /// The person said at the start that an old copy of the store is what there is.
  private var acceptsOldStore = false
  let clock: any AgentClock
  let entropy: any Entropy
  let tokenCache: TokenCache
  let time: TimeKeeper
  let stepUps: StepUps
  let policyCache: PolicyCache
  let callerGrants: CallerGrantTable
  private(set) var vault: Vault?
  /// The slot that opened the vault.
  var openedSlot: Int?
  /// What came is dropped through this while the vault is locked; nil before it was ever open, and where nobody knows
  /// which box is the current one (`lock`).
  private(set) var inboxWriter: LockedInboxWriter?
  var dropBoxNumber: UInt64 = 0
  /// Counts what somebody took back: sign-outs, erasures, PINs that were set.
  var withdrawalCount: UInt64 = 0
  /// Counts how often the vault was opened.
  private(set) var unlockGeneration: UInt64 = 0
  private var unlockThrottle = UnlockThrottle()

  var profiles: [AccountID: AccountProfile] = [:]
  /// Partitions whose profile does not open: their accounts answer `integrity`, the others go on.
  var damagedPartitions: Set<PartitionID> = []
  /// The places of providers whose records do not open: they and their accounts answer `integrity`.
  var damagedProviders: Set<[UInt8]> = []
  var active: AccountID?
  var providers: [ProviderName: Provider] = [:]

  init(
    store: sending any Store, keySources: [any KeySource], anchor: sending (any RollbackAnchor)?,
    clock: any AgentClock, entropy: any Entropy, tokenCache: TokenCache, time: TimeKeeper, policyCache: PolicyCache,
    stepUps: StepUps, callerGrants: CallerGrantTable
  ) {
    self.store = store
    self.keySources = keySources
    witness = RollbackGuard(anchor)
    self.clock = clock
    self.entropy = entropy
    self.tokenCache = tokenCache
    self.time = time
    self.stepUps = stepUps
    self.policyCache = policyCache
    self.callerGrants = callerGrants
  }

  func unlockedVault() throws(AgentFailure) -> Vault {
    guard let vault else { throw .locked }
    return vault
  }

  func onVault<Result>(
    account: AccountID? = nil, _ body: (Vault) throws(VaultFailure) -> Result
  ) throws(AgentFailure) -> Result {
    let vault = try unlockedVault()
    do {
      return try body(vault)
    } catch {
      throw AgentFailure(error, account: account)
    }
  }

  // MARK: opening

  /// What opening a vault can come to.
  enum OpenOutcome: Sendable, Equatable { case open, needsInitialising, needsPassphrase }

  /// Opens the vault without a person where that is possible; makes it where the protection needs nobody.
  ///
  /// A vault that is there is opened by the slots that it has, the wanted one first: what a person added is no silent
  /// fall to something weaker. One that was started for a passphrase waits for it.
  func open(protection wanted: String, acceptingOldStore: Bool = false) throws(AgentFailure) -> OpenOutcome {
    acceptsOldStore = acceptingOldStore
    let slots = try keySlotRows()
    guard !slots.isEmpty else {
      guard let source = keySources.first(where: { $0.protection == wanted }) else { return .needsInitialising }
      // The key is durable before the vault that needs it; a key that is there from a start that ended is used.
      let key = try onKey(source) { () throws(KeySourceFailure) in
        if let existing = try source.key() { return existing }
        return try source.createKey()
      }
      try create(protection: source.protection, parameters: [], holder: key)
      return .open
    }
    guard wanted != "passphrase" else { return .needsPassphrase }
    return try openUnattended(slots, wanted: wanted) ? .open : .needsPassphrase
  }

  /// False where only a person can open it.
  private func openUnattended(_ slots: [KeySlotRow], wanted: String) throws(AgentFailure) -> Bool {
    var failure: AgentFailure?
    for source in keySources.filter({ $0.protection == wanted }) + keySources.filter({ $0.protection != wanted }) {
      guard let slot = slots.first(where: { $0.protection == source.protection }) else { continue }
      do throws(AgentFailure) {
        guard let holder = try onKey(source, { () throws(KeySourceFailure) in try source.key() }) else {
          throw .keyGone(of: source.protection)
        }
        let root = try root(in: slot, by: holder)
        try load(root: root, slot: slot, holder: holder)
        return true
      } catch  where error.concernsKey {
        // Another slot may do.
        failure = failure ?? error
      }
    }
    if slots.contains(where: { $0.protection == "passphrase" }) { return false }
    throw failure ?? .keyGone(of: slots.first?.protection ?? wanted)
  }

  /// Makes the vault under a passphrase. Once: a vault that is there is never made again.
  func initialize(passphrase: Secret) throws(AgentFailure) {
    guard try keySlotRows().isEmpty else {
      throw .vaultExists
    }
    let parameters = PassphraseParameters.new()
    let holder = try Self.holder(parameters, passphrase: passphrase)
    try create(protection: "passphrase", parameters: parameters.bytes, holder: holder)
  }

  /// Unlocks by a passphrase; the wrong one changes nothing, and after a few of them the next has to wait.
  func unlock(passphrase: Secret) throws(AgentFailure) {
    guard vault == nil else { return }
    if let wait = unlockThrottle.begin(at: clock.boot()) { throw .passphrase(.wrong(retryAfter: wait)) }
    do throws(AgentFailure) {
      try tryUnlock(passphrase: passphrase)
      unlockThrottle.wasNotWrong()
    } catch {
      guard error.isWrongKey else {
        unlockThrottle.wasNotWrong()
        throw error
      }
      throw .passphrase(.wrong(retryAfter: unlockThrottle.wasWrong(at: clock.boot())))
    }
  }

  private func tryUnlock(passphrase: Secret) throws(AgentFailure) {
    let slots = try keySlotRows()
      .filter { $0.protection == "passphrase" }
    guard !slots.isEmpty else {
      throw .passphrase(.noSlot)
    }
    var failure: AgentFailure?
    for slot in slots {
      do throws(AgentFailure) {
        let holder = try Self.holder(of: slot, passphrase: passphrase)
        try load(root: try root(in: slot, by: holder), slot: slot, holder: holder)
        return
      } catch  where error.concernsKey {
        // A slot that somebody damaged, or put there, keeps nobody from the others. If it was wrong for one of them it
        // was a guess, and counts as one.
        if failure?.isWrongKey != true { failure = error }
      }
    }
    throw failure ?? .passphrase(.wrong(retryAfter: Milliseconds(1)))
  }

  /// The key that a passphrase makes for its slot. Takes some tenths of a second.
  static func holder(of slot: KeySlotRow, passphrase: Secret) throws(AgentFailure) -> SealingKey {
    guard let parameters = PassphraseParameters(bytes: slot.parameters) else {
      throw .keySlot(.costsOutOfBounds)
    }
    return try holder(parameters, passphrase: passphrase)
  }

  static func holder(_ parameters: PassphraseParameters, passphrase: Secret) throws(AgentFailure) -> SealingKey {
    guard let holder = parameters.stretching.key(from: passphrase, salt: parameters.salt) else {
      throw .passphrase(.noMemory)
    }
    return holder
  }

  var vaultIsOpen: Bool { vault != nil }

  func keySlotProtections() throws(AgentFailure) -> Set<String> {
    Set(try keySlotRows().map(\.protection))
  }

  /// Opens the vault again as it was opened at the start; false if that takes a person.
  func openAgain() throws(AgentFailure) -> Bool {
    let slots = try keySlotRows()
    guard !slots.isEmpty else { return try open(protection: keySources.first?.protection ?? "passphrase") == .open }
    return try openUnattended(slots, wanted: keySources.first?.protection ?? "")
  }

  /// What `agent.status` tells, also of a locked vault.
  struct Summary: Sendable {
    var isLocked: Bool
    var isInitialized: Bool
    var protection: KeyProtection
    var profiles: [AccountProfile]
    var pendingRevocations: Int
  }

  func summary() throws(AgentFailure) -> Summary {
    let slots = try keySlotRows()
    return Summary(
      isLocked: vault == nil, isInitialized: !slots.isEmpty, protection: protection(by: slots),
      profiles: Array(profiles.values), pendingRevocations: vault == nil ? 0 : try outbox().count)
  }

  /// Somebody opened or made the vault: written down before it is answered. If it can't be, it is closed again.
  func enter(_ event: AuditEntry.Event) throws(AgentFailure) {
    let entry = audited(event)
    do throws(AgentFailure) {
      try onVault { (vault) throws(VaultFailure) in try vault.apply([entry]) }
    } catch {
      lock()
      throw error
    }
  }

  /// Somebody closes the vault; false if it was closed already. A disk that fails must not keep it open, so this one is
  /// written if it can be.
  func leave(because reason: LockReason) -> Bool {
    guard vaultIsOpen else { return false }
    let entry = audited(.agentLock, .reason(reason.rawValue))
    try? onVault { (vault) throws(VaultFailure) in try vault.apply([entry]) }
    lock()
    return true
  }

  /// Forgets every key and everything that was opened with one.
  ///
  /// - Parameter isCertain: false after a commit of which nobody knows whether it landed: which box is the current one
  ///   is known at the next opening, and what comes until then stays in memory.
  func lock(isCertain: Bool = true) {
    rememberTime()
    time.close()
    stepUps.clearAll()
    inboxWriter = isCertain ? vault.map { $0.inboxWriter(ofBox: dropBoxNumber) } ?? inboxWriter : nil
    vault = nil
    openedSlot = nil
    profiles = [:]
    providers = [:]
    damagedPartitions = []
    damagedProviders = []
    active = nil
    policyCache.clear()
    callerGrants.close()
    tokenCache.clear()
  }

  /// The slot and what the vault notes of it are one transaction: there is never one without the other.
  private func create(protection: String, parameters: [UInt8], holder: SealingKey) throws(AgentFailure) {
    let root = SealingKey.random()
    let slot = KeySlots.wrap(
      root: root, epoch: 1, by: holder, number: 0, protection: protection, parameters: parameters,
      databaseID: store.databaseID)
    var notes = KeySlotNotes()
    notes.note(slot, holder: holder, at: clock.wall())
    do throws(VaultFailure) {
      try Vault(store: store, root: root, epoch: 1, witness: witness).apply(
        [.put(.vault, .keySlotNotes, notes.record)], with: [.putKeySlot(slot)])
    } catch {
      throw AgentFailure(error)
    }
    try load(root: root, slot: slot, holder: holder)
  }

  func root(in slot: KeySlotRow, by holder: SealingKey) throws(AgentFailure) -> SealingKey {
    do throws(KeySlots.Failure) {
      return try KeySlots.unwrap(slot, by: holder, databaseID: store.databaseID)
    } catch {
      switch error {
      case .wrongKey: throw .passphrase(.wrong(retryAfter: Milliseconds(1)))
      case .damaged:
        throw .keySlot(.damaged)
      }
    }
  }

  private func load(root: SealingKey, slot: KeySlotRow, holder: SealingKey) throws(AgentFailure) {
    do {
      let vault = Vault(
        store: store, root: root, epoch: slot.keyEpoch,
        previous: try Vault.previousKeys(in: store, root: root, epoch: slot.keyEpoch), witness: witness)
      try vault.checkOwnRecords()
      // An old copy is told before anything is written to it: each write that counts would make it look newer.
      try requireOwn(slot, of: vault)
      try requireNewest(vault)
      renewSlot(slot, of: vault, holder: holder)
      try fill(from: vault)
      openedSlot = slot.number
      acceptsOldStore = false
    } catch let failure as AgentFailure {
      throw failure
    } catch let failure as VaultFailure {
      if failure == .integrity {
        throw .vaultDamaged
      }
      throw AgentFailure(failure)
    } catch {
      throw .vaultDamaged
    }
    inboxWriter = nil
    unlockGeneration += 1
    do throws(AgentFailure) {
      try drainInbox()
    } catch {
      // What came must find its place before anybody asks for a token: without it an old one would be sent.
      lock(isCertain: false)
      throw error
    }
    tokenCache.setDirectory(
      profiles.values.map { ($0.id, $0.alias) }, active: active, unlockGeneration: unlockGeneration)
  }

  /// An old copy has refresh tokens that were spent since, tries at a PIN that were used up, accounts that are signed
  /// out: nothing of it is used unless the person says that there is no other.
  private func requireNewest(_ vault: Vault) throws {
    guard let anchored = witness.sequence(of: store.databaseID), try vault.ledger().sequence < anchored else { return }
    guard acceptsOldStore else { throw AgentFailure.rolledBack }
    try disarm(vault, above: anchored)
  }

  private func fill(from vault: Vault) throws {
    var providers: [ProviderName: Provider] = [:]
    var damagedProviders: Set<[UInt8]> = []
    for (id, plain) in try vault.readEach(.provider) {
      guard let provider = plain.flatMap({ Provider($0) }) else {
        damagedProviders.insert(id)
        continue
      }
      providers[provider.configuration.name] = provider
    }
    var profiles: [AccountID: AccountProfile] = [:]
    var damaged: Set<PartitionID> = []
    try vault.forEachProfile { partition, plain in
      guard let profile = plain.flatMap({ AccountProfile($0, partition: partition) }) else {
        damaged.insert(partition)
        return
      }
      profiles[profile.id] = profile
    }
    let names = providers.compactMapValues(\.configuration.policy)
    let policies = try vault.documents(named: Set(names.values))
    let storedGrants = try vault.callerGrants()
    let active = try vault.read(.vault, .activeAccount)
      .flatMap { RecordCoding.read($0) { $0["account"]?.string.flatMap { AccountID($0) } } }
    let dropBoxNumber = try vault.dropBoxNumber()
    let isOfAnotherBoot = time.open(try Self.timeRecord(in: vault))
    self.providers = providers
    self.profiles = profiles
    damagedPartitions = damaged
    self.damagedProviders = damagedProviders
    self.active = active.flatMap { profiles[$0] == nil ? nil : $0 }
    self.vault = vault
    self.dropBoxNumber = dropBoxNumber
    policyCache.fill(policies, named: names)
    self.callerGrants.fill(storedGrants)
    if isOfAnotherBoot { rememberTime() }
  }

  func onStore<Result>(_ body: () throws(StoreFailure) -> Result) throws(AgentFailure) -> Result {
    do {
      return try body()
    } catch {
      throw AgentFailure(VaultFailure.store(error))
    }
  }

  func onKey<Result>(
    _ source: any KeySource, _ body: () throws(KeySourceFailure) -> Result
  ) throws(AgentFailure) -> Result {
    do {
      return try body()
    } catch {
      throw .key(error, of: source.protection)
    }
  }

  /// The database's own word on itself.
  func integrityProblems() throws(StoreFailure) -> [String] { try store.integrityProblems() }

  func closeStore() {
    stepUps.end()
    lock()
    store.close()
  }
}
