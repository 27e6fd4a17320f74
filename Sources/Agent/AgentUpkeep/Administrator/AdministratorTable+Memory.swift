package import AgentStore

extension PublishedTables {
  /// What the administrator's files say. It does not depend on the vault.
  var administrator: AdministratorTable { self[AdministratorTable.self] }
}

extension AdministratorTable: PublishedTable {}

extension AdministratorTable: VaultWatcher {
  package func opened(_ vault: OpenVault, for actor: isolated VaultActor) throws(AgentFailure) { actor.reconcile() }
}
