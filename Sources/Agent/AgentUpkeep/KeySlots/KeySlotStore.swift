package import AgentCore
package import AgentModel
internal import AgentPorts
internal import AgentRecords
package import AgentStore
package import AgentVault
package import Secrets

extension OpenVault {
  package var keySlots: KeySlotStore { KeySlotStore(vault: self) }
}

/// A slot in the answer of `agent.listKeySlots`.
package struct KeySlot: Sendable {
  package var number: Int
  package var protection: KeyProtection
  package var createdAt: Timestamp
  package var isOpened: Bool
}

/// The slots that wrap the root key (docs/storage.md, Key slots). Each slot alone opens the vault; there is always one.
package struct KeySlotStore {
  let vault: OpenVault

  private func rows() throws(AgentFailure) -> [KeySlotRow] { try vault.records.store.slots() }

  private func notes() throws(AgentFailure) -> KeySlotNotes {
    try vault.withRecords { (records) throws(VaultFailure) in try KeySlotNotes.stored(in: records) }
  }

  package func list() throws(AgentFailure) -> [KeySlot] {
    let notes = try notes()
    return try rows().map { row in
      KeySlot(
        number: row.number, protection: KeyProtection(rawValue: row.protection) ?? .passphrase,
        createdAt: notes[row.number]?.createdAt ?? Timestamp(milliseconds: 0),
        isOpened: row.number == vault.openedSlot)
    }
  }

  /// The slots that the vault has a note of: no other opens it.
  func known() throws(AgentFailure) -> [KeySlotRow] {
    let notes = try notes()
    return try rows().filter(notes.knows)
  }

  // MARK: adding and removing

  /// Adds a slot for a passphrase, whose slow key derivation is done already. Returns the slot's number.
  package func add(_ parameters: PassphraseParameters, holder: SealingKey) throws(AgentFailure) -> ChangeSet<Int> {
    try add("passphrase", parameters: parameters.bytes, holder: holder)
  }

  /// Adds a slot whose key needs no person: at most one for each key source.
  package func add(_ protection: KeyProtection) throws(AgentFailure) -> ChangeSet<Int> {
    guard let source = vault.dependencies.keySources.first(where: { $0.protection == protection.rawValue }) else {
      throw .keySlot(.noKeySource)
    }
    guard try !rows().contains(where: { $0.protection == source.protection }) else {
      throw .keySlot(.taken)
    }
    let holder = try source.use { (source) throws(KeySourceFailure) in
      // A removed slot left this key, which may have been copied.
      try source.removeKey()
      if let existing = try source.key() { return existing }
      return try source.createKey()
    }
    return try add(source.protection, parameters: [], holder: holder)
  }

  private func add(
    _ protection: String, parameters: [UInt8], holder: SealingKey
  ) throws(AgentFailure) -> ChangeSet<Int> {
    let rows = try rows()
    let numbers = Set(rows.map(\.number))
    guard rows.count < KeySlots.most, let number = (0..<KeySlots.most).first(where: { !numbers.contains($0) }) else {
      throw .keySlot(.tooMany(KeySlots.most))
    }
    let row = KeySlots.wrap(
      root: vault.records.keys.root, epoch: vault.records.keys.epoch, by: holder, number: number,
      protection: protection, parameters: parameters, databaseID: vault.records.store.databaseID)
    var notes = try notes()
    notes.note(row, holder: holder, at: vault.clock.wall())
    return ChangeSet(
      [
        .put(.vault, .keySlotNotes, notes.record),
        vault.audited(.agentAddKeySlot, .slot(Int64(number)), .protection(protection)),
      ],
      writes: [.putKeySlot(row)], result: number
    ).onlyIntoFreeRoom
  }

  /// Removes a slot, but never the last one, and its key if the agent made the key.
  package func remove(_ number: Int) throws(AgentFailure) -> ChangeSet<Void> {
    let rows = try rows()
    guard let row = rows.first(where: { $0.number == number }) else { throw .notFound(.keySlot) }
    var notes = try notes()
    // A slot without a note in the vault opens nothing: it may be removed, and does not count.
    guard !notes.knows(row) || rows.count(where: notes.knows) > 1 else { throw .keySlot(.last) }
    notes.remove(number)
    let source = vault.dependencies.keySources.first { $0.protection == row.protection }
    return ChangeSet(
      [
        .put(.vault, .keySlotNotes, notes.record),
        vault.audited(.agentRemoveKeySlot, .slot(Int64(number)), .protection(row.protection)),
      ],
      writes: [.deleteKeySlot(number: number)], memory: [.keySlotRemoved(number)], erasing: .values
    ) { _ in try? source?.removeKey() }
  }

  // MARK: rotating the root key

  /// The slots wrapped around a new root key, without the holders' passphrases.
  struct Rewrapping {
    var keys: VaultKeys
    var rows: [KeySlotRow]
    var notes: KeySlotNotes
    var entry: VaultChange
  }

  /// Wraps a new root key for all slots; nil while a rotation is under way.
  func rewrapped() throws(AgentFailure) -> Rewrapping? {
    guard !vault.records.rotation.isUnderWay else { return nil }
    let new = VaultKeys(root: SealingKey.random(), epoch: vault.records.keys.epoch + 1)
    var notes = try notes()
    var rewrapped: [KeySlotRow] = []
    for row in try rows() {
      guard notes.knows(row), let boxKey = notes[row.number]?.boxKey,
        let slot = KeySlots.rewrap(row, root: new.root, epoch: new.epoch, to: boxKey)
      else { throw .keySlot(.changed(row.number)) }
      notes.note(slot)
      rewrapped.append(slot)
    }
    return Rewrapping(
      keys: new, rows: rewrapped, notes: notes,
      entry: vault.audited(.agentRotateRootKey, .keyEpoch(Int64(new.epoch))))
  }

  func begin(_ rotation: Rewrapping) throws(AgentFailure) {
    let records = vault.records
    guard records.rollbackGuard.expect(rotation.keys, after: records.keys, records.store.databaseID) else {
      throw .keySlot(.anchorNotWritten)
    }
    try vault.withRecords { (records) throws(VaultFailure) in
      try records.rotation.begin(
        to: rotation.keys, slots: rotation.rows, notes: rotation.notes, writing: rotation.entry)
    }
  }

  /// False if the store's slots wrap another root key than the one in memory, or can't be read.
  var wrapKnownRootKey: Bool {
    (try? rows())?.allSatisfy { $0.keyEpoch == vault.records.keys.epoch } == true
  }

  /// Rotates one more partition; nil if none was left: then the old root key is gone.
  func rotateNext(after last: PartitionID?) throws(AgentFailure) -> PartitionID? {
    try vault.withRecords { (records) throws(VaultFailure) in
      let rotation = records.rotation
      guard rotation.isUnderWay else { return nil }
      if let next = try rotation.next(after: last) { return next }
      // A partition that sorts before the last one may have been added meanwhile: start from the first once more.
      if let next = try rotation.next(after: nil) { return next }
      try rotation.end()
      return nil
    }
  }
}
