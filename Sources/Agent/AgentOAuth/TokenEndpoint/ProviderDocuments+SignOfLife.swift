internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import Secrets

extension ProviderDocuments {
  /// A sign of life: metadata that names the issuer, or an answer of the token endpoint. What a portal, a proxy or a gateway
  /// sends in their place is none.
  package func answers() async -> Bool {
    let issuer = client.provider.configuration.issuer
    let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    let named = try? await self.issuer(in: base + "/.well-known/openid-configuration")
    if let named, client.provider.isItself(named) { return true }
    // The provider may have no such document, or have it on another server. Without a token and a client this is no refresh,
    // which the endpoint has to say (RFC 6749 §5.2).
    guard let tokenEndpoint = client.provider.endpoints.token else { return false }
    var form = FormBody()
    form.append("grant_type", "refresh_token")
    let fields = [HTTPField("Content-Type", FormBody.mediaType), HTTPField("Accept", "application/json")]
    let outcome = await client.send(client.request("POST", tokenEndpoint, fields: fields, body: form.finish()))
    return if case .response(let response) = outcome { TokenResponseClassifier.isAnswer(response) } else { false }
  }
}
