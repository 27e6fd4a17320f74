internal import AgentPorts
internal import AgentVault

/// The one store is locked or open. Everything that was opened with a key lives in the open state: assigning the other
/// one forgets all of it.
enum VaultState {
  case locked(LockedVault)
  case open(OpenVault)
}

/// The part of a vault that stays in memory while it is locked.
struct LockedVault {
  /// Nil before the first opening, and after a commit of which it is unknown whether it landed: which inbox is the
  /// current one is known at the next opening, and late answers stay in memory until then.
  var inbox: LockedInboxWriter?

  /// Seals a record that work brought to a locked vault: durable now, attributed at the next opening.
  func leave(_ record: any InboxRecord, name: [UInt8], in store: any Store) throws(AgentFailure) {
    guard let inbox else { throw .locked }
    do throws(StoreFailure) {
      try store.commit([.put(inbox.seal(record.record, name: name))])
    } catch {
      throw AgentFailure(VaultFailure.store(error))
    }
  }
}
