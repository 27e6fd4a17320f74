package import AgentVault
package import Secrets

/// What a feature does around the commits, the openings and the lockings of the vault, on `VaultActor`. Nothing of it
/// awaits, so that a check and its commit stay one step. `AgentTables` lists them.
package protocol VaultWatcher: Sendable {
  /// The changes of a commit, with those that the feature adds. A failure refuses the commit.
  func completed(
    _ changes: [VaultChange], in vault: OpenVault, for actor: isolated VaultActor
  ) throws(AgentFailure) -> [VaultChange]
  /// The changes that `completed` returned last are durable, also where there were none. A commit that failed is not told.
  func committed()
  /// The vault is open, and no caller has read it. A failure locks it again.
  func opened(_ vault: OpenVault, for actor: isolated VaultActor) throws(AgentFailure)
  /// The vault is about to be locked.
  func locking(_ vault: OpenVault, for actor: isolated VaultActor)
}

extension VaultWatcher {
  package func completed(
    _ changes: [VaultChange], in vault: OpenVault, for actor: isolated VaultActor
  ) throws(AgentFailure) -> [VaultChange] { changes }
  package func committed() {}
  package func opened(_ vault: OpenVault, for actor: isolated VaultActor) throws(AgentFailure) {}
  package func locking(_ vault: OpenVault, for actor: isolated VaultActor) {}
}

/// What work in flight leaves in the inbox of a locked vault.
package protocol InboxRecord: Sendable {
  var record: Secret { get }
}
