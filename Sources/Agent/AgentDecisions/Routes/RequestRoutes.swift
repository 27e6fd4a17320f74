internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import Synchronization

/// The providers of the accounts that sent requests, so that the next request needs no hop to `VaultActor`.
///
/// Only `VaultActor` writes it, from its memory, and forgets an account with each change of it, and all accounts with
/// each change of a provider.
package final class RequestRoutes: Sendable {
  /// The provider of an account, and the origins and names that it allows.
  final class Route: Sendable {
    let provider: Provider
    /// In normal form.
    let origins: Set<String>
    let names: RequestNames
    /// Where a secret stands; nil for a token of OAuth.
    var placement: SecretPlacement? { provider.configuration.secret?.placement }

    init(_ provider: Provider) {
      self.provider = provider
      names = RequestNames(
        allowed: provider.configuration.allowedFields, placing: provider.configuration.secret?.placement)
      origins = RequestTarget.origins(provider.configuration.allowedOrigins)
    }
  }

  private let routes = Mutex<[AccountID: Route]>([:])

  package init() {}

  func route(of account: AccountID) -> Route? { routes.withLock { $0[account] } }

  func put(_ route: Route, of account: AccountID) { routes.withLock { $0[account] = route } }

  func forget(_ account: AccountID) { routes.withLock { $0[account] = nil } }

  func forgetAll() { routes.withLock { $0 = [:] } }
}
