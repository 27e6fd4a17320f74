package import AgentModel
package import AgentOAuth
package import AgentStore

extension VaultActor {
  /// The account that a selector names now.
  package func profile(_ selector: AccountSelector) throws(AgentFailure) -> AccountProfile {
    try unlocked().directory.profile(selector)
  }

  /// The provider that the account's tokens may be sent to now.
  package func receiver(ofTokensOf id: AccountID) throws(AgentFailure) -> Provider {
    try unlocked().providers.receiver(ofTokensOf: id)
  }

  package func provider(named name: String) throws(AgentFailure) -> Provider {
    try unlocked().providers.provider(named: name)
  }
}
