internal import AgentPorts
internal import AgentVault
internal import Secrets

/// Checks a key slot that has just given the root key, and renews its wrapping.
struct KeySlotAdmission {
  let store: any Store
  let records: Vault
  let clock: any AgentClock

  /// A slot that the vault does not know was inserted or restored from outside: it is refused.
  func requireOwn(_ row: KeySlotRow) throws {
    // A vault from before there were notes: its slots are believed, this once.
    if let notes = try KeySlotNotes.stored(in: records), !notes.knows(row) { throw AgentFailure.keySlot(.unknown) }
  }

  /// With its holder's key at hand: a slot that was rewrapped without it is wrapped as usual again.
  func renew(_ row: KeySlotRow, holder: SealingKey) {
    do {
      let kept = try KeySlotNotes.stored(in: records)
      guard kept == nil || KeySlots.isBoxed(row) || kept?[row.number]?.boxKey.isEmpty != false else { return }
      var notes = kept ?? KeySlotNotes()
      if kept == nil { for row in try store.slots() { notes.note(row, at: clock.wall()) } }
      let wrapped = KeySlots.wrap(
        root: records.keys.root, epoch: records.keys.epoch, by: holder, number: row.number,
        protection: row.protection, parameters: row.parameters, databaseID: store.databaseID)
      notes.note(wrapped, holder: holder, at: clock.wall())
      try records.apply([.put(.vault, .keySlotNotes, notes.record)], with: [.putKeySlot(wrapped)])
    } catch {
      // A disk that fails must not keep the vault closed: the slot opens as it is.
    }
  }
}
