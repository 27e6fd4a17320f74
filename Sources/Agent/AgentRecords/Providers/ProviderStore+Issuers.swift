internal import AgentCore
package import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentStore
internal import AgentVault

/// Which provider the tokens of an account may be sent to (docs/tokens.md, Where tokens go).
extension ProviderStore {
  /// The provider that issued the account's tokens, as it was configured then: they are sent to no other. Nil if there
  /// is no provider.
  func issuer(of profile: AccountProfile) -> Provider? {
    vault.providerTable.all[profile.provider].map { $0.issuer(of: profile.issuedBy) ?? $0.withoutEndpoints }
  }

  /// The provider that the account's tokens may be sent to now: the only way to it for what sends them.
  package func receiver(ofTokensOf id: AccountID) throws(AgentFailure) -> Provider {
    let profile = try vault.directory.profile(.id(id))
    let provider = try provider(named: profile.provider.text)
    guard provider.mayReceive(profile.issuedBy) else { throw .token(.interaction(claims: nil), id) }
    return provider
  }

  /// The accounts of a provider after its change: what was issued to them stays with the client and the server that
  /// issued it.
  func accounts(of provider: Provider) -> [AccountProfile] {
    vault.directory.sortedProfiles.filter { $0.provider == provider.configuration.name }.map { account in
      var profile = account
      profile.isIssuedElsewhere = !provider.mayReceive(profile.issuedBy)
      if profile.isIssuedElsewhere != account.isIssuedElsewhere {
        profile.noteState(after: account.restingState, at: vault.time.now(for: account.provider))
      }
      return profile
    }
  }

  /// The changed profile in the store, and an audit entry if the state of the account changes with it.
  func changes(of profile: AccountProfile) -> [VaultChange] {
    let put = VaultChange.put(profile.partition, .profile, profile.record)
    guard let before = vault.directory.profiles[profile.id]?.restingState, before != profile.restingState else {
      return [put]
    }
    return [
      put,
      vault.audited(
        .sessionStateChanged, account: profile.id, .state(profile.restingState.rawValue),
        .previousState(before.rawValue)),
    ]
  }
}
