internal import AgentModel
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import AgentVault

extension OpenVault {
  var backup: BackupSource { BackupSource(vault: self) }
}

/// The vault's part of a backup: the moment at which the copy is made, and the entry that says so.
struct BackupSource {
  let vault: OpenVault

  /// Copies the store as it is now, and returns what opens the copy.
  func snapshot(to path: String) throws(AgentFailure) -> @Sendable (any Store) -> Vault {
    do {
      try vault.records.store.snapshot(to: path)
    } catch {
      throw .backup(error)
    }
    return vault.records.opensCopies
  }

  func note(
    _ accounts: Int, includesRefreshTokens: Bool, failure: AgentFailure? = nil
  ) -> ChangeSet<Void> {
    ChangeSet([
      vault.audited(
        .agentBackup, outcome: failure.map { $0.kind.rawValue } ?? "ok", .accounts(Int64(accounts)),
        .includesRefreshTokens(includesRefreshTokens))
    ]).onlyIntoFreeRoom
  }
}

extension BackupMoment {
  /// Throws if the copy holds what was taken back since it was made.
  func requireSame(_ now: BackupMoment) throws(AgentFailure) {
    guard self == now else { throw .backup(BackupFailure.overtaken) }
  }
}
