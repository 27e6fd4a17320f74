internal import AgentCore
internal import AgentModel
package import AgentPorts
package import AgentVault
package import Secrets

/// The outcomes of opening a vault.
package enum OpenOutcome: Sendable, Equatable { case open, needsInitialising, needsPassphrase }

/// Opens the vault by one of its key slots, or creates it, for `VaultActor`.
struct VaultOpening {
  enum Outcome {
    case open(OpenVault)
    case needsInitialising
    case needsPassphrase
  }

  private let store: any Store
  private let anchor: RollbackGuard
  private let dependencies: VaultDependencies
  /// True if the person accepted an old copy of the store at the start, because there is no newer one.
  private var acceptsOldStore = false
  let throttle: PassphraseThrottle
  /// Counts the openings.
  private(set) var unlockGeneration: UInt64 = 0

  init(store: any Store, anchor: RollbackGuard, dependencies: VaultDependencies) {
    self.store = store
    self.anchor = anchor
    self.dependencies = dependencies
    throttle = PassphraseThrottle(.unlock, store: store, clock: dependencies.clock)
  }

  func slots() throws(AgentFailure) -> [KeySlotRow] { try store.slots() }

  // MARK: without a person

  /// Opens an existing vault by its slots, the wanted protection first; any other slot was added by the person, so that
  /// its use is no silent downgrade. An agent that was started for a passphrase waits for it.
  mutating func open(protection wanted: String, acceptingOldStore: Bool) throws(AgentFailure) -> Outcome {
    acceptsOldStore = acceptingOldStore
    try requireOwnStore()
    let slots = try slots()
    guard !slots.isEmpty else {
      guard let source = dependencies.keySources.first(where: { $0.protection == wanted }) else {
        return .needsInitialising
      }
      // The key is durable before the vault that needs it. A key from an interrupted start is used again.
      let key = try source.use { (source) throws(KeySourceFailure) in
        if let existing = try source.key() { return existing }
        return try source.createKey()
      }
      return .open(try create(protection: source.protection, parameters: [], holder: key))
    }
    guard wanted != "passphrase" else { return .needsPassphrase }
    return try openUnattended(slots, wanted: wanted).map { .open($0) } ?? .needsPassphrase
  }

  /// Opens as at the start; nil if that needs a person.
  mutating func openAgain() throws(AgentFailure) -> OpenVault? {
    let slots = try slots()
    guard !slots.isEmpty else {
      // Another key source may be there, but a vault that is to have a passphrase waits for it.
      guard case .open(let vault) = try open(protection: dependencies.protection, acceptingOldStore: false) else {
        return nil
      }
      return vault
    }
    return try openUnattended(slots, wanted: dependencies.protection)
  }

  /// Opens the vault by a slot that needs no person; nil without such a slot.
  private mutating func openUnattended(
    _ slots: [KeySlotRow], wanted: String
  ) throws(AgentFailure) -> OpenVault? {
    var failure: AgentFailure?
    let sources = dependencies.keySources
    for source in sources.filter({ $0.protection == wanted }) + sources.filter({ $0.protection != wanted }) {
      guard let slot = slots.first(where: { $0.protection == source.protection }) else { continue }
      do throws(AgentFailure) {
        guard let holder = try source.use({ (source) throws(KeySourceFailure) in try source.key() }) else {
          throw .keyGone(of: source.protection)
        }
        return try load(slot, by: holder)
      } catch  where error.concernsKey {
        // Try the other slots.
        failure = failure ?? error
      }
    }
    if slots.contains(where: { $0.protection == "passphrase" }) { return nil }
    throw failure ?? .keyGone(of: slots.first?.protection ?? wanted)
  }

  // MARK: by a passphrase

  mutating func initialize(passphrase: Secret) throws(AgentFailure) -> OpenVault {
    guard try slots().isEmpty else { throw .vaultExists }
    let parameters = PassphraseParameters.new()
    return try create(
      protection: "passphrase", parameters: parameters.bytes, holder: parameters.holder(from: passphrase))
  }

  /// Opens by a passphrase. After a few wrong ones the next attempt has to wait.
  mutating func unlock(passphrase: Secret) throws(AgentFailure) -> OpenVault {
    if let wait = throttle.begin() { throw .passphrase(.notTried(retryAfter: wait)) }
    do throws(AgentFailure) {
      let vault = try tryUnlock(passphrase: passphrase)
      throttle.wasNotWrong()
      return vault
    } catch {
      guard error.isWrongKey else {
        throttle.wasNotWrong()
        throw error
      }
      throw .passphrase(.wrong(retryAfter: throttle.wasWrong()))
    }
  }

  private mutating func tryUnlock(passphrase: Secret) throws(AgentFailure) -> OpenVault {
    let slots = try slots().filter { $0.protection == "passphrase" }
    guard !slots.isEmpty else { throw .passphrase(.noSlot) }
    var failure: AgentFailure?
    for slot in slots {
      do throws(AgentFailure) {
        guard let parameters = PassphraseParameters(bytes: slot.parameters) else {
          throw .keySlot(.costsOutOfBounds)
        }
        return try load(slot, by: parameters.holder(from: passphrase))
      } catch  where error.concernsKey {
        // A damaged or foreign slot must not block the others. If the passphrase was wrong for one of them it was a
        // guess, and counts as one.
        if failure?.isWrongKey != true { failure = error }
      }
    }
    throw failure ?? .passphrase(.wrong(retryAfter: Milliseconds(1)))
  }

  // MARK: the vault

  /// Creates the vault: the slot and its notes in the vault are one transaction, so that neither exists alone.
  private mutating func create(
    protection: String, parameters: [UInt8], holder: SealingKey
  ) throws(AgentFailure) -> OpenVault {
    let root = SealingKey.random()
    let slot = KeySlots.wrap(
      root: root, epoch: 1, by: holder, number: 0, protection: protection, parameters: parameters,
      databaseID: store.databaseID)
    var notes = KeySlotNotes()
    notes.note(slot, holder: holder, at: dependencies.clock.wall())
    do throws(VaultFailure) {
      try Vault(store: store, kinds: dependencies.kinds, root: root, epoch: 1, rollbackGuard: anchor).apply(
        [.put(.vault, .keySlotNotes, notes.record)], with: [.putKeySlot(slot)])
    } catch {
      throw AgentFailure(error)
    }
    return try load(slot, by: holder)
  }

  private mutating func load(_ slot: KeySlotRow, by holder: SealingKey) throws(AgentFailure) -> OpenVault {
    let root = try root(in: slot, by: holder)
    do {
      let records = Vault(
        store: store, kinds: dependencies.kinds, root: root, epoch: slot.keyEpoch,
        previous: try RootKeyRotation.previousKeys(in: store, root: root, epoch: slot.keyEpoch), rollbackGuard: anchor,
        repeatsBegan: dependencies.repeatsBegan)
      try records.checkOwnRecords()
      // An old copy is refused before anything is written to it: each write that counts would make it look newer.
      let slots = KeySlotAdmission(store: store, records: records, clock: dependencies.clock)
      try slots.requireOwn(slot)
      try requireNewest(records)
      slots.renew(slot, holder: holder)
      let vault = try OpenVault(
        records, slot: slot.number, unlockGeneration: unlockGeneration + 1, dependencies: dependencies)
      try dependencies.tables.fill(from: vault)
      acceptsOldStore = false
      unlockGeneration += 1
      return vault
    } catch let failure as AgentFailure {
      throw failure
    } catch let failure as VaultFailure {
      throw failure == .integrity ? .vaultDamaged : AgentFailure(failure)
    } catch {
      throw .vaultDamaged
    }
  }

  private func root(in slot: KeySlotRow, by holder: SealingKey) throws(AgentFailure) -> SealingKey {
    do throws(KeySlots.Failure) {
      return try KeySlots.unwrap(slot, by: holder, databaseID: store.databaseID)
    } catch {
      switch error {
      case .wrongKey: throw .passphrase(.wrong(retryAfter: Milliseconds(1)))
      case .damaged: throw .keySlot(.damaged)
      }
    }
  }

  /// Refuses a store that is not the one of this state directory: another vault's, or one whose vault is gone. A new vault
  /// in it, or the accounts of the other, would hide the loss. The person may accept another vault's.
  func requireOwnStore() throws(AgentFailure) {
    let isExpected = anchor.expectsHere(store.databaseID)
    let holdsVault = try !slots().isEmpty
    let isAccepted = holdsVault ? isExpected || acceptsOldStore : isExpected && !anchor.knows(store.databaseID)
    guard isAccepted else { throw .anotherStore }
  }

  /// Refuses an old copy of the store, unless the person accepted it: it holds spent refresh tokens, used-up PIN
  /// attempts and accounts that were signed out since.
  private func requireNewest(_ records: Vault) throws {
    anchor.slotsChanged(to: Set(try store.slots().map(\.protection)), store.databaseID)
    let sequence = try records.ledger().sequence
    // The count above which an old copy that the person accepts goes on; nil if the store is none.
    var anchored: UInt64?
    switch anchor.knowledge(of: store.databaseID) {
    case .none where !anchor.expectsHere(store.databaseID):
      // The person accepted another vault's store, which may be a copy of any age.
      anchored = sequence
    case .count(let count) where sequence < count:
      guard count <= RollbackGuard.highestSequence else { throw AgentFailure.anchorDamaged }
      guard acceptsOldStore else { throw AgentFailure.rolledBack }
      anchored = count
    case .none, .count: break
    case .damaged:
      // The store may be as old as any.
      guard acceptsOldStore else { throw AgentFailure.anchorUnreadable }
      anchored = sequence
    }
    switch anchor.knowledge(of: records.keys, store.databaseID) {
    case .expected: break
    case .another:
      // With a root key that was rotated away, an old copy can be given any count.
      guard acceptsOldStore else { throw AgentFailure.rolledBack }
      anchored = anchored ?? sequence
    case .damaged:
      guard acceptsOldStore else { throw AgentFailure.anchorUnreadable }
      anchored = anchored ?? sequence
    }
    if let anchored { try OldStore(records: records, dependencies: dependencies).disarm(above: anchored) }
    anchor.settle(records.keys, store.databaseID)
    anchor.catchUp(store.databaseID, to: try records.ledger().sequence)
  }
}

extension Store {
  package func slots() throws(AgentFailure) -> [KeySlotRow] {
    do throws(StoreFailure) {
      return try keySlots()
    } catch {
      throw AgentFailure(VaultFailure.store(error))
    }
  }
}

extension KeySource {
  /// Uses the key source; its failure is reported with the name of the protection.
  package func use<Result>(_ body: (any KeySource) throws(KeySourceFailure) -> Result) throws(AgentFailure) -> Result {
    do {
      return try body(self)
    } catch {
      throw .key(error, of: protection)
    }
  }
}

extension PassphraseParameters {
  /// Derives the key of a slot from a passphrase. Takes some tenths of a second.
  package func holder(from passphrase: Secret) throws(AgentFailure) -> SealingKey {
    guard let holder = stretching.key(from: passphrase, salt: salt) else { throw .passphrase(.noMemory) }
    return holder
  }
}
