package import AgentCore
package import AgentModel
internal import AgentPorts
internal import Secrets

/// The exchanges of a machine identity (docs/machines.md): each is its grant, spends nothing, and may be repeated after a
/// lost answer.
extension ProviderClient {
  package enum MachineAnswer: Sendable {
    /// The answer has an access token and no refresh token.
    case token(TokenResponse, sentAt: BootInstant)
    case failed(ExchangeFailure)
  }

  /// The grant's type (RFC 7523 §2.1).
  private static let jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

  /// Asks for a token with the scopes and the resource of `key`; the standard one has those of the provider.
  ///
  /// - Parameter device: the key that the account's tokens are bound to; nil: the token is a bearer token.
  package func machineToken(
    _ grant: MachineGrant, for key: TokenKey, boundTo device: DeviceKey? = nil
  ) async -> MachineAnswer {
    guard let endpoint = provider.endpoints.token else { return .failed(.misconfigured("noTokenEndpoint")) }
    // As for a refresh: the provider would refuse the request, and count it.
    guard key.resource == nil || provider.configuration.takesResource else {
      return .failed(.misconfigured("invalid_target"))
    }
    guard canAuthenticate else { return .failed(.unsigned) }
    let scopes = key.scopes ?? ScopeSet(provider.configuration.scopes)
    var form = FormBody()
    switch grant {
    case .clientCredentials: form.append("grant_type", "client_credentials")
    case .jwtBearer(let assertion):
      let claims = ClientAssertion(
        assertion, ofClient: provider.configuration.clientID, at: endpoint, scopes: scopes, id: assertionID(), now: now)
      guard let signed = signed(claims) else { return .failed(.unsigned) }
      form.append("grant_type", Self.jwtBearer)
      form.append("assertion", signed)
    case .githubApp(let installation): return await installationToken(installation, for: key, at: endpoint)
    }
    if !scopes.isEmpty { form.append("scope", scopes.spaceDelimited) }
    let resources = key.resource.map { [$0] } ?? provider.configuration.sentResources
    for resource in resources { form.append("resource", resource) }  // RFC 8707 §2.2
    for (name, value) in provider.configuration.authorizationParameters.sorted(by: { $0.key < $1.key }) {
      form.append(name, value)
    }
    return read(await exchange(form, boundTo: device), isBound: device != nil)
  }

  private func read(_ outcome: HTTPOutcome, isBound: Bool) -> MachineAnswer {
    switch judge(outcome, isBound: isBound) {
    case .answered(let body, let sentAt):
      guard var response = TokenResponse(body: body, provider.scopeSeparators) else {
        return .failed(.transient(FailureClassifier.notAnOAuthAnswer, retryAfter: nil))
      }
      // RFC 6749 §4.4.3: there should be none, and the agent asks with the grant again.
      response.refreshToken = nil
      response.idToken = nil
      return .token(response, sentAt: sentAt)
    // No person can sign in again or consent: what is refused is the client, or what it asks for.
    case .failed(.reauthenticate), .failed(.interaction):
      return .failed(.misconfigured(error(in: outcome) ?? "invalid_grant"))
    case .failed(.unexplained(let status, let isPage)):
      // As portals and proxies send one.
      if isPage { return .failed(.transient(FailureClassifier.notAnOAuthAnswer, retryAfter: nil)) }
      return .failed(.misconfigured(error(in: outcome) ?? "status\(status)"))
    case .failed(let failure): return .failed(failure)
    }
  }

  private func error(in outcome: HTTPOutcome) -> String? {
    guard case .response(let response) = outcome else { return nil }
    return TokenEndpointRefusal(response, now: now).error
  }
}
