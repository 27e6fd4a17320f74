package import AgentModel
internal import AgentPorts
package import AgentStore
internal import AgentVault

extension OpenVault {
  /// The accounts.
  package var directory: AccountTable { self[AccountTable.self] }

  /// True if the account's data key is under a proof of presence alone.
  package func isDataLocked(of profile: AccountProfile) throws(AgentFailure) -> Bool {
    try withRecords(of: profile.id) { (records) throws(VaultFailure) in
      try records.isDataLocked(profile.partition)
    }
  }
}

extension PublishedTables {
  package var tokenCache: TokenCache { self[TokenCache.self] }
}

/// A published table with answers that depend on an account. It is told before anyone learns that the account changed.
package protocol AccountWatcher: PublishedTable {
  func accountChanged(_ id: AccountID)
}

extension TokenCache: PublishedTable {
  package func open(_ vault: OpenVault) {
    setDirectory(
      vault.directory.profiles.values.map { ($0.id, $0.alias) }, active: vault.directory.active,
      unsettled: vault.directory.unsettled,
      unlockGeneration: vault.unlockGeneration)
  }

  package func close() { clear() }
}
