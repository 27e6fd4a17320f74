internal import AgentModel
internal import AgentPorts
internal import Secrets

/// How the client says who it is, at every endpoint that asks (RFC 6749 §2.3, RFC 7523).
extension ProviderClient {
  /// RFC 6749 §2.3.1: Basic is what every server must take; the body is for those that say they take only that.
  ///
  /// `naming` puts the client's id in the body where the header has it too: RFC 9126 §2.1 wants it there, and so do some
  /// servers at RFC 8628 §3.1.
  func authenticate(_ form: inout FormBody, naming: Bool = false) -> [HTTPField] {
    let configuration = provider.configuration
    let fields = [HTTPField("Content-Type", FormBody.mediaType), HTTPField("Accept", "application/json")]
    let methods = provider.tokenEndpointAuthMethods
    guard let secret = provider.clientSecret else {
      form.append("client_id", configuration.clientID)
      return fields
    }
    if !methods.isEmpty, !methods.contains("client_secret_basic"), methods.contains("client_secret_post") {
      form.append("client_id", configuration.clientID)
      form.append("client_secret", secret)
      return fields
    }
    if naming { form.append("client_id", configuration.clientID) }
    return fields + [HTTPField.basic(clientID: configuration.clientID, clientSecret: secret)]
  }
}
