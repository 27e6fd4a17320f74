internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// The ways to the root key (docs/storage.md, Key slots): several at once, each by itself enough, never none.
extension VaultActor {
  struct KeySlot: Sendable {
    var number: Int
    var protection: KeyProtection
    var createdAt: Timestamp
    var isOpened: Bool
  }

  func keySlotList() throws(AgentFailure) -> [KeySlot] {
    let notes = try onVault { (vault) throws(VaultFailure) in try vault.keySlotNotes() } ?? KeySlotNotes()
    return try keySlotRows().map { row in
      KeySlot(
        number: row.number, protection: KeyProtection(rawValue: row.protection) ?? .passphrase,
        createdAt: notes[row.number]?.createdAt ?? Timestamp(milliseconds: 0), isOpened: row.number == openedSlot)
    }
  }

  /// What `agent.status` calls the protection: a store is as well protected as by the weakest of its slots.
  func protection(by slots: [KeySlotRow]) -> KeyProtection {
    let fromTheWeakest: [KeyProtection] = [.keyFile, .systemdCredential, .secretService, .passphrase]
    let there = Set(slots.map(\.protection))
    return fromTheWeakest.first { there.contains($0.rawValue) }
      ?? keySources.first.flatMap { KeyProtection(rawValue: $0.protection) } ?? .passphrase
  }

  // MARK: adding and removing

  /// A slot for a passphrase, whose key was made elsewhere: that takes its time.
  func addKeySlot(_ parameters: PassphraseParameters, holder: SealingKey) throws(AgentFailure) -> Int {
    try add("passphrase", parameters: parameters.bytes, holder: holder)
  }

  /// A slot whose key needs no person. Its source has one such slot at most.
  func addKeySlot(_ protection: KeyProtection) throws(AgentFailure) -> Int {
    _ = try unlockedVault()
    guard let source = keySources.first(where: { $0.protection == protection.rawValue }) else {
      throw .keySlot(.noKeySource)
    }
    guard try !keySlotRows().contains(where: { $0.protection == source.protection }) else {
      throw .keySlot(.taken)
    }
    let holder = try onKey(source) { () throws(KeySourceFailure) in
      // Left behind by a slot that is no more: somebody may have it.
      try source.removeKey()
      if let existing = try source.key() { return existing }
      return try source.createKey()
    }
    return try add(source.protection, parameters: [], holder: holder)
  }

  private func add(_ protection: String, parameters: [UInt8], holder: SealingKey) throws(AgentFailure) -> Int {
    let vault = try unlockedVault()
    let rows = try keySlotRows()
    let numbers = Set(rows.map(\.number))
    guard rows.count < KeySlots.most, let number = (0..<KeySlots.most).first(where: { !numbers.contains($0) }) else {
      throw .keySlot(.tooMany(KeySlots.most))
    }
    let row = KeySlots.wrap(
      root: vault.keys.root, epoch: vault.keys.epoch, by: holder, number: number, protection: protection,
      parameters: parameters, databaseID: store.databaseID)
    let entry = audited(.agentAddKeySlot, .slot(Int64(number)), .protection(protection))
    try onVault { (vault) throws(VaultFailure) in
      var notes = try vault.keySlotNotes() ?? KeySlotNotes()
      notes.note(row, holder: holder, at: clock.wall())
      try vault.apply([.put(.vault, .keySlotNotes, notes.record), entry], with: [.putKeySlot(row)])
    }
    return number
  }

  /// Never the last one. What the slot was opened with is removed too, where the agent made it.
  func removeKeySlot(_ number: Int) throws(AgentFailure) {
    _ = try unlockedVault()
    let rows = try keySlotRows()
    guard let row = rows.first(where: { $0.number == number }) else {
      throw .notFound(.keySlot)
    }
    let kept = try onVault { (vault) throws(VaultFailure) in try vault.keySlotNotes() } ?? KeySlotNotes()
    // One that the vault does not know opens nothing: it may go, and does not count.
    guard !kept.knows(row) || rows.count(where: kept.knows) > 1 else {
      throw .keySlot(.last)
    }
    let changes = [
      wipePending(for: nil), audited(.agentRemoveKeySlot, .slot(Int64(number)), .protection(row.protection)),
    ]
    try onVault { (vault) throws(VaultFailure) in
      var notes = try vault.keySlotNotes() ?? KeySlotNotes()
      notes.remove(number)
      try vault.apply([.put(.vault, .keySlotNotes, notes.record)] + changes, with: [.deleteKeySlot(number: number)])
    }
    if openedSlot == number { openedSlot = nil }
    _ = try? finishErasures()
    if let source = keySources.first(where: { $0.protection == row.protection }) { try? source.removeKey() }
  }

  // MARK: a slot that opened

  /// A slot that the vault does not know was put there, or put back, by somebody who had the root key once.
  func requireOwn(_ row: KeySlotRow, of vault: Vault) throws {
    // A vault from before there were notes: what is there is believed, this once.
    guard let notes = try vault.keySlotNotes(), !notes.knows(row) else { return }
    throw AgentFailure.keySlot(.unknown)
  }

  /// With its holder's key at hand: a slot that was rewrapped without it is wrapped as usual again.
  func renewSlot(_ row: KeySlotRow, of vault: Vault, holder: SealingKey) {
    do {
      let kept = try vault.keySlotNotes()
      guard kept == nil || KeySlots.isBoxed(row) || kept?[row.number]?.boxKey.isEmpty != false else { return }
      var notes = kept ?? KeySlotNotes()
      if kept == nil { for row in try keySlotRows() { notes.note(row, at: clock.wall()) } }
      let wrapped = KeySlots.wrap(
        root: vault.keys.root, epoch: vault.keys.epoch, by: holder, number: row.number, protection: row.protection,
        parameters: row.parameters, databaseID: store.databaseID)
      notes.note(wrapped, holder: holder, at: clock.wall())
      try vault.apply([.put(.vault, .keySlotNotes, notes.record)], with: [.putKeySlot(wrapped)])
    } catch {
      // A disk that fails must not keep the vault closed: the slot opens as it is.
    }
  }

  // MARK: another root key

  /// From the answer on everything new is under another root key; what is there follows (`rotateNext`). One that is on
  /// its way is gone on with.
  func beginRotation() throws(AgentFailure) -> UInt32 {
    let vault = try unlockedVault()
    guard !vault.isRotating else { return vault.keys.epoch }
    let new = VaultKeys(root: SealingKey.random(), epoch: vault.keys.epoch + 1)
    var notes = try onVault { (vault) throws(VaultFailure) in try vault.keySlotNotes() } ?? KeySlotNotes()
    var rows: [KeySlotRow] = []
    for row in try keySlotRows() {
      guard notes.knows(row), let boxKey = notes[row.number]?.boxKey,
        let rewrapped = KeySlots.rewrap(row, root: new.root, epoch: new.epoch, to: boxKey)
      else {
        throw .keySlot(.changed(row.number))
      }
      notes.note(rewrapped)
      rows.append(rewrapped)
    }
    let slots = rows
    let known = notes
    let entry = audited(.agentRotateRootKey, .keyEpoch(Int64(new.epoch)))
    do throws(AgentFailure) {
      try onVault { (vault) throws(VaultFailure) in
        try vault.beginRotation(to: new, slots: slots, notes: known, writing: entry)
      }
    } catch {
      // It may have landed all the same: what the store says now is under a key that this vault may not have.
      let epochs = try? keySlotRows().map(\.keyEpoch)
      if epochs?.allSatisfy({ $0 == vault.keys.epoch }) != true { lock(isCertain: false) }
      throw error
    }
    return new.epoch
  }

  /// One partition more; nil when none is left, and the old root key is gone.
  func rotateNext(after last: PartitionID?) throws(AgentFailure) -> PartitionID? {
    try onVault { (vault) throws(VaultFailure) in
      guard vault.isRotating else { return nil }
      if let next = try vault.rotate(after: last) { return next }
      // What was passed over at first may have been made meanwhile.
      if let next = try vault.rotate(after: nil) { return next }
      try vault.endRotation()
      return nil
    }
  }

  func keySlotRows() throws(AgentFailure) -> [KeySlotRow] {
    try onStore { () throws(StoreFailure) in try store.keySlots() }
  }
}
