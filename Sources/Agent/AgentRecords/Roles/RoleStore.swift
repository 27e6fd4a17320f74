package import AgentCore
package import AgentModel
package import AgentStore
internal import AgentVault

extension OpenVault {
  package var roles: RoleStore { RoleStore(vault: self) }
}

/// The sealed credentials of roles.
package struct RoleStore {
  let vault: OpenVault

  /// What is kept; nothing if the record can't be read, since all of it can be asked for again.
  package func read(_ profile: AccountProfile) throws(AgentFailure) -> KeptRoles {
    try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) in
      try records.read(profile.partition, .roleCredentials).flatMap { KeptRoles($0) } ?? KeptRoles()
    }
  }

  /// Keeps the credentials, unless the account was signed out meanwhile.
  package func keep(
    _ kept: KeptRole, for role: RoleSession, of id: AccountID, epoch: UInt64
  ) throws(AgentFailure) -> ChangeSet<Bool> {
    guard let profile = vault.directory.current(id, epoch: epoch), profile.signInStatus == .signedIn else {
      return .unchanged(false)
    }
    var roles = try read(profile)
    roles.keep(kept, for: role, at: vault.time.now(for: profile.provider))
    return ChangeSet([.put(profile.partition, .roleCredentials, roles.record)], of: id, result: true).onlyIntoFreeRoom
  }
}
