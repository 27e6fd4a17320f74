internal import AgentCore
internal import AgentModel
package import AgentPorts
internal import Secrets

/// Authenticates the client at every endpoint that asks for it (RFC 6749 §2.3, RFC 7523).
extension ProviderClient {
  /// One way a provider, and no other one after a refusal: a wrong secret may burn the refresh token that came with it.
  /// Nil if the client's key can't sign, so that nothing is sent.
  ///
  /// `naming` puts the client's id in the body where the header has it too: RFC 9126 §2.1 wants it there, so do some
  /// servers at RFC 8628 §3.1, and so does the Python SDK of MCP at every endpoint (docs/providers.md, Plain OAuth
  /// servers).
  package func authenticate(_ form: inout FormBody, at endpoint: String, naming: Bool = false) -> [HTTPField]? {
    let clientID = provider.configuration.clientID
    var fields = [HTTPField("Content-Type", FormBody.mediaType), HTTPField("Accept", "application/json")]
    let isKnown = provider.mayAuthenticate(at: endpoint)
    let (method, secret) = (isKnown ? provider.authenticationMethod : .publicClient, provider.clientSecret)
    let isNamed = naming || provider.configuration.identity == .resource
    if isNamed || namesClient(method, at: endpoint) { form.append("client_id", clientID) }
    switch method {
    case .publicClient: break
    case .clientSecretBasic: if let secret { fields.append(.basic(clientID: clientID, clientSecret: secret)) }
    case .clientSecretPost: if let secret { form.append("client_secret", secret) }
    case .privateKeyJWT:
      guard let assertion = assertion(for: endpoint) else { return nil }
      form.append("client_assertion_type", ClientAssertion.type)
      form.append("client_assertion", assertion)
    }
    return fields
  }

  /// The form has the client's id. The header of HTTP Basic has it already, and so has the assertion that a machine
  /// identity gets its tokens for.
  private func namesClient(_ method: ClientAuthMethod, at endpoint: String) -> Bool {
    switch method {
    case .clientSecretBasic: false
    case .publicClient:
      !provider.configuration.clientID.isEmpty
        && !(provider.configuration.machine?.provesClient == true && endpoint == provider.endpoints.token)
    case .clientSecretPost, .privateKeyJWT: true
    }
  }

  /// False if the client's key can't sign.
  var canAuthenticate: Bool {
    var form = FormBody()
    let endpoint = provider.endpoints.token ?? provider.configuration.issuer
    return provider.authenticationMethod != .privateKeyJWT || authenticate(&form, at: endpoint) != nil
  }

  private func assertion(for endpoint: String) -> Secret? {
    signed(
      ClientAssertion(
        clientID: provider.configuration.clientID, audience: provider.assertionAudience(at: endpoint),
        id: assertionID(), now: now))
  }

  /// Nil without a key that signs.
  func signed(_ assertion: ClientAssertion) -> Secret? {
    provider.clientKey.flatMap { ClientKey($0) }.flatMap { assertion.signed(by: $0, with: dependencies.keys) }
  }

  /// For one assertion.
  func assertionID() -> String { Base64URL.encode(dependencies.entropy.bytes(18)) }
}

extension ExchangeFailure {
  /// The client's key was good when it was given, and can't sign now: OpenSSL is gone. Nothing was sent, so that no provider
  /// has refused anything.
  static let unsigned = offline(.noLibrary(.crypto))
}
