package import AgentModel
package import AgentOAuth
internal import AgentRecords
package import AgentStore

extension PublishedTables {
  var requestRoutes: RequestRoutes { self[RequestRoutes.self] }
}

extension RequestRoutes: AccountWatcher, ProviderWatcher {
  package func accountChanged(_ id: AccountID) { forget(id) }

  package func providerChanged(_ name: ProviderName, to provider: Provider?) { forgetAll() }

  package func close() { forgetAll() }
}

extension VaultActor {
  /// The provider that requests with the account's tokens go to, and where they may go. No request of a signed-out account
  /// reaches a resource server any more.
  package func requestRoute(of id: AccountID) throws(AgentFailure) -> RequestRoutes.Route {
    let vault = try unlocked()
    guard try vault.directory.profile(.id(id)).signInStatus == .signedIn else { throw .signedOut(id) }
    let route = RequestRoutes.Route(try vault.providers.receiver(ofTokensOf: id))
    vault.tables.requestRoutes.put(route, of: id)
    return route
  }
}
