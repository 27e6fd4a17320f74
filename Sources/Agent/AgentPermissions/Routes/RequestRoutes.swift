package import AgentCore
package import AgentModel
package import AgentOAuth
internal import Synchronization

/// The providers of the accounts that sent requests, so that the next request needs no hop to `VaultActor`.
///
/// Only `VaultActor` writes it, from its memory, and forgets an account with each change of it, and all accounts with
/// each change of a provider.
package final class RequestRoutes: Sendable {
  /// The provider of an account, and the origins and names that it allows.
  package final class Route: Sendable {
    package let provider: Provider
    /// In normal form.
    package let origins: Set<String>
    package let names: RequestNames
    /// Where a secret stands; nil for a token of OAuth.
    package var placement: SecretPlacement? { provider.configuration.secret?.placement }

    package init(_ provider: Provider) {
      self.provider = provider
      names = RequestNames(
        allowed: provider.configuration.allowedFields, placing: provider.configuration.secret?.placement)
      origins = RequestTarget.origins(provider.configuration.allowedOrigins)
    }
  }

  private let routes = Mutex<[AccountID: Route]>([:])

  package init() {}

  package func route(of account: AccountID) -> Route? { routes.withLock { $0[account] } }

  func put(_ route: Route, of account: AccountID) { routes.withLock { $0[account] = route } }

  func forget(_ account: AccountID) { routes.withLock { $0[account] = nil } }

  func forgetAll() { routes.withLock { $0 = [:] } }
}
