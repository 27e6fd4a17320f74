internal import AgentCore
internal import AgentModel
package import AgentOAuth

/// Sign-ins at providers that are told of them before the browser comes (RFC 9126).
extension SignInCoordinator {
  /// The parameters that the browser carries instead; nil at a provider that is not told before.
  ///
  /// The agent pushes to every provider that offers it, also where it is not required: parameters in the browser can be
  /// read and changed there. A push that fails ends the sign-in, since otherwise an attacker that disturbs it could
  /// choose the weaker way. Only an endpoint that the provider itself says is not there, and does not require, counts
  /// as not offered.
  package func push(
    _ parameters: [(String, String)], to provider: Provider
  ) async throws(AgentFailure) -> [(String, String)]? {
    let isRequired = provider.metadata?.requiresPushedAuthorization == true
    guard let endpoint = provider.endpoints.pushedAuthorizationRequest else {
      guard isRequired else { return nil }
      throw .provider(.noPushEndpoint)
    }
    switch await client(provider).push(parameters, to: endpoint) {
    case .pushed(let requestURI):
      // RFC 9126 §4: all the rest was pushed.
      return [("client_id", provider.configuration.clientID), ("request_uri", requestURI)]
    case .notThere:
      guard isRequired else { return nil }
      throw .provider(.pushEndpointGone)
    case .refused(let error):
      throw .provider(.pushRefused(error: AuthorizationAnswer.known(error ?? "other")))
    case .failed(let failure): throw .signIn(.exchange(failure))
    }
  }
}
