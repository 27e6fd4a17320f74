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
    guard try KeySlotNotes.stored(in: records).knows(row) else { throw AgentFailure.keySlot(.unknown) }
  }

  /// With its holder's key at hand: a slot that was rewrapped without it is wrapped as usual again.
  func renew(_ row: KeySlotRow, holder: SealingKey) {
    guard KeySlots.isBoxed(row) else { return }
    do {
      var notes = try KeySlotNotes.stored(in: records)
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
