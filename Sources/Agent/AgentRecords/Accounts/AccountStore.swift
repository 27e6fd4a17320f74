package import AgentModel
internal import AgentPorts
package import AgentStore
package import AgentVault
internal import JSONRPC
internal import SecretJSON

extension DeclaredKind {
  /// The active account.
  package static let activeAccount = DeclaredKind(17, under: .vault, .answersForItself)
}

extension OpenVault {
  package var accounts: AccountStore { AccountStore(vault: self) }
}

/// The person's changes of the directory: names, and the active account.
package struct AccountStore {
  let vault: OpenVault

  /// Returns the renamed account.
  package func rename(_ selector: AccountSelector, to alias: Alias) throws(AgentFailure) -> ChangeSet<AccountID> {
    var profile = try vault.directory.profile(selector)
    let previous = profile.alias
    try vault.directory.requireFree(alias, for: profile.id)
    profile.alias = alias
    let (id, events) = (profile.id, vault.events)
    return ChangeSet(
      [.put(profile.partition, .profile, profile.record), vault.audited(.accountRename, account: id)],
      memory: [.account(profile)], of: id
    ) { _ in
      if previous != alias { events.publish(.accountRenamed(alias: alias, previous: previous), account: id) }
      return id
    }.onlyIntoFreeRoom
  }

  /// Changes the active account. Returns the account, and the one that was active before.
  package func activate(
    _ selector: AccountSelector
  ) throws(AgentFailure) -> ChangeSet<(active: AccountProfile, previous: AccountID?)> {
    let profile = try vault.directory.profile(selector)
    guard profile.signInStatus == .signedIn else {
      throw .signedOut(profile.id, during: .activation)
    }
    let previous = vault.directory.active
    guard previous != profile.id else { return .unchanged((profile, previous)) }
    return ChangeSet(
      [Self.activeRecord(profile.id), vault.audited(.accountSwitch, account: profile.id)],
      memory: [.active(profile.id)], result: (active: profile, previous: previous)
    ).onlyIntoFreeRoom
  }

  static func activeRecord(_ id: AccountID) -> VaultChange {
    .put(.vault, .activeAccount, SecretJSON.write { $0.member("account", id.text) })
  }
}
