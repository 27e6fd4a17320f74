internal import AgentCore
package import AgentModel
package import AgentStore

extension EffectiveGrant {
  /// The covered account that a selector means. An account that is not covered and one that does not exist give the
  /// same error.
  package func account(_ selector: AccountSelector, _ tokenCache: TokenCache) throws(AgentFailure) -> AccountID {
    if case .id(let id) = selector {
      guard permission.accounts.contains(id) else { throw .caller(.notCovered) }
      return id
    }
    // While the vault is locked the names are sealed, so that no selector can be resolved.
    guard tokenCache.isOpen else { throw .locked }
    let meant = tokenCache.accounts(selector: selector).filter(permission.accounts.contains)
    guard let account = meant.first else { throw .caller(.notCovered) }
    guard meant.count == 1 else { throw .accountAmbiguous(meant.sorted()) }
    return account
  }
}
