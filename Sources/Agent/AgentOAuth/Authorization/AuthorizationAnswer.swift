internal import AgentModel
internal import AgentPorts
package import Secrets

/// The answer of the provider's page (RFC 6749 §4.1.2, RFC 9207), judged before the agent acts on it.
package enum AuthorizationAnswer {
  /// It belongs to this sign-in, and the provider agreed.
  case code(Secret)
  /// It belongs to this sign-in, which is over.
  case refused(AuthorizationFailure)
  /// It is no answer to this sign-in: the right one may still come.
  case foreign(AuthorizationFailure)

  /// True if the answer has the request's `state`.
  package var hasState: Bool {
    switch self {
    case .foreign(.unreadable), .foreign(.stateMismatch): false
    case .code, .refused, .foreign: true
    }
  }

  package init(query: Secret, to request: AuthorizationRequest, of provider: Provider) {
    guard let answer = SecretQuery(query), !answer.hasDuplicates else {
      self = .foreign(.unreadable)
      return
    }
    // In constant time: the state is what an attacker must guess.
    guard let state = answer.secret("state"), state.equals(Secret(text: request.state)) else {
      self = .foreign(.stateMismatch)
      return
    }
    let code = answer.secret("code").flatMap { $0.count == 0 ? nil : $0 }
    let found: AuthorizationAnswer
    if let error = answer.text("error") {
      found = .refused(Self.meaning(of: error))
    } else if let code {
      found = .code(code)
    } else {
      // Our own address, before it went anywhere, has our state too.
      self = .foreign(.withoutCode)
      return
    }
    // RFC 9207 §2.4: with several providers, an answer must say whom it is from, or one could pass for another. A refusal
    // carries nothing that could go to the wrong server, and some providers leave `iss` out of it; MCP has clients show
    // none of it without the right `iss`.
    let issuer = answer.text("iss")
    let mustTell =
      provider.metadata?.authorizationResponseIssuer == true
      && (answer.text("error") == nil || provider.configuration.isExact)
    if issuer != nil || mustTell {
      guard let issuer, provider.isItself(issuer) else {
        self = .refused(.issuerMismatch)
        return
      }
    }
    self = found
  }

  private static func meaning(of error: String) -> AuthorizationFailure {
    guard error != "access_denied" else {
      return .denied
    }
    return .refused(error: known(error))
  }

  /// RFC 9396 §5.
  package static let authorizationDetailsRefused = "invalid_authorization_details"

  /// An error's name if the standards have it (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6, RFC 9396 §5, OpenID
  /// Connect Core Error Code unmet_authentication_requirements); input is not echoed.
  package static func known(_ error: String) -> String {
    let names = [
      "invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope", "server_error",
      "temporarily_unavailable", "interaction_required", "login_required", "account_selection_required",
      "consent_required", "invalid_request_uri", "invalid_request_object", "request_not_supported",
      "request_uri_not_supported", "registration_not_supported", "invalid_target", authorizationDetailsRefused,
      "unmet_authentication_requirements",
    ]
    return names.contains(error) ? error : "other"
  }
}
