internal import AgentModel
internal import AgentPorts

/// The registry's part of a backup: the moment at which the copy is made, and the entry that says so.
extension VaultActor {
  /// Copies the store as it is now, and returns what opens the copy.
  func snapshot(to path: String) throws(AgentFailure) -> @Sendable (any Store) -> Vault {
    let vault = try unlockedVault()
    do {
      try vault.store.snapshot(to: path)
    } catch {
      throw .backup(error)
    }
    return vault.opensCopies
  }

  /// What a backup must not outrun: who signed out, was erased or set a PIN since, and whether the vault was closed.
  struct BackupMoment: Sendable, Equatable { var unlockGeneration, withdrawalCount: UInt64 }

  var backupMoment: BackupMoment { BackupMoment(unlockGeneration: unlockGeneration, withdrawalCount: withdrawalCount) }

  /// Throws if the copy holds what was taken back since it was made.
  func requireStill(_ moment: BackupMoment) throws(AgentFailure) {
    guard backupMoment == moment else {
      throw .backup(BackupFailure.overtaken)
    }
  }

  func noteBackup(_ accounts: Int, includesRefreshTokens: Bool, failure: AgentFailure? = nil) throws(AgentFailure) {
    let entry = audited(
      .agentBackup, outcome: failure.map { $0.kind.rawValue } ?? "ok", .accounts(Int64(accounts)),
      .includesRefreshTokens(includesRefreshTokens))
    try onVault { (vault) throws(VaultFailure) in try vault.apply([entry]) }
  }

  func requireOpen() throws(AgentFailure) { _ = try unlockedVault() }
}
