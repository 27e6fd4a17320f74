package import AgentCore
package import AgentModel
package import AgentPorts
internal import Secrets

/// The forms that more than one kind of request sends, such as a sign-in and a trial of its endpoint. The client's
/// authentication comes after them.
extension FormBody {
  /// For a revocation (RFC 7009 §2.1) or an introspection (RFC 7662 §2.1).
  static func naming(_ token: Secret, _ kind: TokenTypeHint) -> FormBody {
    var form = FormBody()
    form.append("token", token)
    form.append("token_type_hint", kind.rawValue)
    return form
  }

  /// RFC 9126 §2.1. `client_id` is part of the client's authentication.
  package static func pushedAuthorization(_ parameters: [(String, String)]) -> FormBody {
    var form = FormBody()
    for (name, value) in parameters where name != "client_id" { form.append(name, value) }
    return form
  }

  /// RFC 8628 §3.1.
  package static func deviceAuthorization(
    scopes: [String], details: AuthorizationDetails? = nil, at provider: ProviderConfiguration
  ) -> FormBody {
    var form = FormBody()
    if !scopes.isEmpty { form.append("scope", scopes.joined(separator: " ")) }
    if let details { form.append("authorization_details", details.text) }  // RFC 9396 §3
    for resource in provider.sentResources { form.append("resource", resource) }  // RFC 8707 §2.1
    for (name, value) in provider.deviceParameters { form.append(name, value) }
    return form
  }
}
