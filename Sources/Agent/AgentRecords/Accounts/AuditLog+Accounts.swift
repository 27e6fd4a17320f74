package import AgentModel
package import AgentStore

extension AuditLog {
  /// An entry for a program that is given credentials of a signed-in account.
  package func lending(_ selector: AccountSelector, to program: String) throws(AgentFailure) -> ChangeSet<AccountID> {
    let profile = try vault.directory.profile(selector)
    guard profile.signInStatus == .signedIn else { throw .signedOut(profile.id) }
    return ChangeSet(
      [vault.audited(.execBegin, account: profile.id, .program(program))], of: profile.id, result: profile.id
    ).onlyIntoFreeRoom
  }

  /// The account of the wanted entries. A forgotten account still has entries, so its id is enough.
  package func account(_ selector: AccountSelector?) throws(AgentFailure) -> AccountID? {
    switch selector {
    case nil: return nil
    case .id(let id)?: return id
    case let selector?: return try vault.directory.profile(selector).id
    }
  }
}
