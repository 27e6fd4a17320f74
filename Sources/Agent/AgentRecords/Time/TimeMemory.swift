internal import AgentModel
internal import AgentOAuth
package import AgentStore
internal import AgentVault

extension OpenVault {
  package var time: TimeKeeper { tables.time }
}

extension PublishedTables {
  var time: TimeKeeper { self[TimeKeeper.self] }
}

extension TimeKeeper: PublishedTable {
  /// Time that was kept in another boot of the machine is written down anew. If the disk refuses, the old record stays.
  package func fill(from vault: OpenVault) throws {
    guard open(try TrustedTimeStore.record(in: vault.records)) else { return }
    let changes = vault.trustedTime.changes
    if !changes.isEmpty { try? vault.records.apply(changes) }
  }
}

extension TimeKeeper: VaultWatcher {
  package func locking(_ vault: OpenVault, for actor: isolated VaultActor) { actor.rememberTime() }
}

extension VaultActor {
  /// Stores the time record in a transaction of its own, for the rare case that nothing else is committed with it. If
  /// the write fails, the previous record stays, which a restart would find.
  package func rememberTime() {
    _ = try? commitIfOpen { (vault) throws(AgentFailure) in ChangeSet(vault.trustedTime.changes).onlyIntoFreeRoom }
  }
}
