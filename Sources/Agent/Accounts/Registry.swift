internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import JSONRPC
internal import Secrets

/// Owns the store and everything that is durable: who there is, which providers, who is active.
///
/// Every change is made and committed without an await in between, so that what is in memory is always what is on
/// the disk: a check and its write can't be parted by another caller.
actor Registry {
  private let store: any Store
  private let keySource: (any KeySource)?
  let clock: any AgentClock
  let entropy: any Entropy
  let board: TokenBoard
  let time: TimeKeeper
  let stepUps: StepUps
  let policyShelf: PolicyShelf
  private(set) var vault: Vault?
  private(set) var protection: String?
  private var unlockThrottle = UnlockThrottle()

  var profiles: [AccountID: AccountProfile] = [:]
  /// Partitions whose profile does not open: their accounts answer `integrity`, the others go on.
  var damagedPartitions: Set<PartitionID> = []
  var active: AccountID?
  var providers: [ProviderName: Provider] = [:]

  init(
    store: sending any Store, keySource: (any KeySource)?, clock: any AgentClock, entropy: any Entropy,
    board: TokenBoard, time: TimeKeeper, policyShelf: PolicyShelf, stepUps: StepUps
  ) {
    self.store = store
    self.keySource = keySource
    self.clock = clock
    self.entropy = entropy
    self.board = board
    self.time = time
    self.stepUps = stepUps
    self.policyShelf = policyShelf
  }

  func unlockedVault() throws(RPCError) -> Vault {
    guard let vault else { throw .locked }
    return vault
  }

  func onVault<Result>(
    account: AccountID? = nil, _ body: (Vault) throws(VaultFailure) -> Result
  ) throws(RPCError) -> Result {
    let vault = try unlockedVault()
    do {
      return try body(vault)
    } catch {
      throw RPCError(error, account: account)
    }
  }

  // MARK: opening

  /// What opening a vault can come to.
  enum OpenOutcome: Sendable, Equatable { case open, needsInitialising, needsPassphrase }

  /// Opens the vault without a person where that is possible; makes it where the protection needs nobody.
  func open(protection wanted: String) throws(RPCError) -> OpenOutcome {
    let slots = try onStore { () throws(StoreFailure) in try store.keySlots() }
    if let keySource, keySource.protection == wanted {
      if let slot = slots.first(where: { $0.protection == keySource.protection }) {
        guard let key = try onKey({ () throws(KeySourceFailure) in try keySource.key() }) else {
          throw .vaultDamaged("The key file of this store is gone. Without it nothing in it can be read; put it back.")
        }
        try unlock(slot, by: key)
        return .open
      }
      if slots.isEmpty {
        // The key is durable before the vault that needs it; a key that is there from a start that ended is used.
        let key = try onKey { () throws(KeySourceFailure) in
          if let existing = try keySource.key() { return existing }
          return try keySource.createKey()
        }
        try create(protection: keySource.protection, parameters: [], holder: key)
        return .open
      }
    }
    return slots.isEmpty ? .needsInitialising : .needsPassphrase
  }

  /// Makes the vault under a passphrase. Once: a vault that is there is never made again.
  func initialize(passphrase: Secret) throws(RPCError) {
    guard try onStore({ () throws(StoreFailure) in try store.keySlots() }).isEmpty else {
      throw .invalidParams("", expected: "an agent that has no vault yet").with {
        $0.message = "The vault is there already. Unlock it; nothing was changed."
      }
    }
    let parameters = PassphraseParameters(salt: SecretBytes(random: PassphraseStretching.saltBytes).plainCopy)
    guard let holder = parameters.stretching.key(from: passphrase, salt: parameters.salt) else {
      throw RPCError(.storeUnavailable, "There was not enough memory to make a key from the passphrase.")
    }
    try create(protection: "passphrase", parameters: parameters.bytes, holder: holder)
  }

  /// Unlocks by a passphrase; the wrong one changes nothing, and after a few of them the next has to wait.
  func unlock(passphrase: Secret) throws(RPCError) {
    guard vault == nil else { return }
    if let nextTry = unlockThrottle.nextTry, clock.boot() < nextTry {
      throw .unlockFailed(retryAfter: nextTry - clock.boot())
    }
    do throws(RPCError) {
      try tryUnlock(passphrase: passphrase)
      unlockThrottle = UnlockThrottle()
    } catch {
      guard error.code == .unlockFailed, error.retryAfter != nil else { throw error }
      unlockThrottle.failed(at: clock.boot())
      throw .unlockFailed(retryAfter: unlockThrottle.nextTry.map { $0 - clock.boot() } ?? Milliseconds(1))
    }
  }

  private func tryUnlock(passphrase: Secret) throws(RPCError) {
    let slots = try onStore { () throws(StoreFailure) in try store.keySlots() }
    guard let slot = slots.first(where: { $0.protection == "passphrase" }) else {
      throw RPCError(
        .unlockFailed, "No passphrase opens this vault. `agent.initialize` makes a new one where there is none.")
    }
    guard let parameters = PassphraseParameters(bytes: slot.parameters) else {
      throw .vaultDamaged("The passphrase slot asks for costs outside the bounds. It is refused, not weakened.")
    }
    guard let holder = parameters.stretching.key(from: passphrase, salt: parameters.salt) else {
      throw RPCError(.storeUnavailable, "There was not enough memory to make a key from the passphrase.")
    }
    try unlock(slot, by: holder)
  }

  var vaultIsOpen: Bool { vault != nil }

  /// Opens the vault again as it was opened at the start; false if that takes a person.
  func openAgain() throws(RPCError) -> Bool {
    guard let keySource else { return false }
    return try open(protection: keySource.protection) == .open
  }

  /// What `agent.status` tells, also of a locked vault.
  struct Summary: Sendable {
    var isLocked: Bool
    var isInitialized: Bool
    var protection: WireProtection
    var profiles: [AccountProfile]
    var pendingRevocations: Int
  }

  func summary() throws(RPCError) -> Summary {
    let slots = try onStore { () throws(StoreFailure) in try store.keySlots() }
    let word = protection ?? slots.first?.protection ?? keySource?.protection ?? "passphrase"
    return Summary(
      isLocked: vault == nil, isInitialized: !slots.isEmpty, protection: WireProtection(rawValue: word) ?? .passphrase,
      profiles: Array(profiles.values), pendingRevocations: vault == nil ? 0 : try outbox().count)
  }

  /// Somebody opened or made the vault: written down before it is answered. If it can't be, it is closed again.
  func enter(_ event: AuditEntry.Event) throws(RPCError) {
    let entry = audited(event)
    do throws(RPCError) {
      try onVault { (vault) throws(VaultFailure) in try vault.apply([entry]) }
    } catch {
      lock()
      throw error
    }
  }

  /// Somebody closes the vault. A disk that fails must not keep it open, so this one is written if it can be.
  func leave() {
    let entry = audited(.agentLock)
    try? onVault { (vault) throws(VaultFailure) in try vault.apply([entry]) }
    lock()
  }

  /// Forgets every key and everything that was opened with one.
  func lock() {
    rememberTime()
    time.close()
    stepUps.clearAll()
    vault = nil
    profiles = [:]
    providers = [:]
    damagedPartitions = []
    active = nil
    policyShelf.clear()
    board.clear()
  }

  private func create(protection: String, parameters: [UInt8], holder: SealingKey) throws(RPCError) {
    let root = SealingKey.random()
    let slot = KeySlots.wrap(
      root: root, epoch: 1, by: holder, number: 0, protection: protection, parameters: parameters,
      databaseID: store.databaseID)
    try onStore { () throws(StoreFailure) in try store.commit([.putKeySlot(slot)]) }
    try load(root: root, epoch: 1, protection: protection)
  }

  private func unlock(_ slot: KeySlotRow, by holder: SealingKey) throws(RPCError) {
    do {
      let root = try KeySlots.unwrap(slot, by: holder, databaseID: store.databaseID)
      try load(root: root, epoch: slot.keyEpoch, protection: slot.protection)
    } catch let failure as RPCError {
      throw failure
    } catch KeySlots.Failure.wrongKey {
      throw .unlockFailed(retryAfter: Milliseconds(1))
    } catch {
      throw .vaultDamaged("The key slot is damaged. Restore the store from a backup.")
    }
  }

  private func load(root: SealingKey, epoch: UInt32, protection: String) throws(RPCError) {
    let vault = Vault(store: store, root: root, epoch: epoch)
    do {
      var providers: [ProviderName: Provider] = [:]
      for (_, plain) in try vault.readAll(.vault, .provider) {
        guard let provider = Provider(plain) else { throw VaultFailure.integrity }
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
      let policies = try vault.policies()
      let active = try vault.read(.vault, .activeAccount)
        .flatMap { RecordCoding.read($0) { $0["account"]?.string.flatMap { AccountID($0) } } }
      let isOfAnotherBoot = time.open(try Self.timeRecord(in: vault))
      self.providers = providers
      self.profiles = profiles
      self.damagedPartitions = damaged
      self.active = active.flatMap { profiles[$0] == nil ? nil : $0 }
      self.vault = vault
      self.protection = protection
      policyShelf.fill(
        Dictionary(policies.map { ($0.name, $0.parsed) }, uniquingKeysWith: { first, _ in first }),
        named: providers.compactMapValues(\.configuration.policy))
      if isOfAnotherBoot { rememberTime() }
    } catch let failure as VaultFailure {
      if failure == .integrity {
        throw .vaultDamaged("The vault's own records do not open. Restore the store from a backup.")
      }
      throw RPCError(failure)
    } catch {
      throw .vaultDamaged("The vault can't be read.")
    }
    board.setDirectory(profiles.values.map { ($0.id, $0.alias) }, active: self.active)
  }

  private func onStore<Result>(_ body: () throws(StoreFailure) -> Result) throws(RPCError) -> Result {
    do {
      return try body()
    } catch {
      throw RPCError(.store(error))
    }
  }

  private func onKey<Result>(_ body: () throws(KeySourceFailure) -> Result) throws(RPCError) -> Result {
    do {
      return try body()
    } catch {
      switch error {
      case .unsafePermissions:
        throw .vaultDamaged("Others can read or replace the key file. Its mode must be 0600 and its owner you.")
      case .damaged: throw .vaultDamaged("The key file is damaged. Put back the one that belongs to this store.")
      case .unavailable: throw .vaultDamaged("The key file can't be read or written.")
      }
    }
  }

  func closeStore() {
    stepUps.end()
    lock()
    store.close()
  }
}

/// Wrong passphrases in a row. Argon2id makes each guess dear; this makes many of them slow.
private struct UnlockThrottle {
  /// A person mistypes.
  private static let free = 3
  private static let longest = Milliseconds.seconds(60)
  private var failures = 0
  private(set) var nextTry: BootInstant?

  mutating func failed(at now: BootInstant) {
    failures += 1
    guard failures >= Self.free else { return }
    nextTry = now + min(Self.longest, .seconds(1) * (Int64(1) << min(failures - Self.free, 6)))
  }
}

extension RPCError {
  static func unlockFailed(retryAfter: Milliseconds) -> RPCError {
    RPCError(.unlockFailed, "This does not open the vault. Nothing was changed; try again.").with {
      $0.retryAfter = retryAfter
    }
  }

  static func vaultDamaged(_ message: String) -> RPCError {
    RPCError(.integrity, message).with { $0.remedies = [.administrator] }
  }
}

extension SecretBytes {
  /// For random bytes that are no secret: a salt.
  fileprivate var plainCopy: [UInt8] { withBytes { [UInt8]($0) } }
}
