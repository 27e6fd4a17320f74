internal import AgentModel
internal import Secrets

/// What the browser brought back (RFC 6749 §4.1.2, RFC 9207), judged before anything is done with it.
enum AuthorizationAnswer {
  /// The code, if the answer belongs to this sign-in and the provider agreed.
  static func code(in query: String, for job: SignInJob) throws(RPCError) -> Secret {
    guard let answer = HTTPQuery(query), answer.duplicates.isEmpty else {
      throw .signInFailed("malformedAnswer", "The provider's answer could not be read. Nothing was kept; begin again.")
    }
    guard let state = answer["state"], same(state, job.state) else {
      throw .signInFailed(
        "stateMismatch",
        "The answer does not belong to this sign-in. Nothing was kept; if you did not start it, somebody else did.")
    }
    // RFC 9207 §2.4: with several providers, an answer must say whom it is from, or one could pass for another.
    let issuer = answer["iss"]
    let mustTell = job.provider.metadata?.authorizationResponseIssuer == true
    if issuer != nil || mustTell {
      guard let issuer, same(issuer, job.provider.configuration.issuer) else {
        throw .signInFailed(
          "issuerMismatch", "The answer is from another provider than the one asked. Nothing was kept.")
      }
    }
    if let error = answer["error"] {
      guard error == "access_denied" else {
        throw .signInFailed("providerError", "The provider refused the sign-in. Nothing was kept.").with {
          $0.details = [("providerError", .text(known(error)))]
        }
      }
      throw .signInFailed("denied", "The sign-in was denied at the provider. Nothing was changed.")
    }
    guard let code = answer["code"], !code.isEmpty else {
      throw .signInFailed("malformedAnswer", "The provider's answer has no code. Nothing was kept; begin again.")
    }
    return Secret(text: code)
  }

  /// In constant time: the state is what an attacker must guess.
  private static func same(_ a: String, _ b: String) -> Bool { Secret(text: a).equals(Secret(text: b)) }

  /// An error's name if the standards have it (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6); input is not echoed.
  private static func known(_ error: String) -> String {
    let names = [
      "invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope", "server_error",
      "temporarily_unavailable", "interaction_required", "login_required", "account_selection_required",
      "consent_required", "invalid_request_uri", "invalid_request_object", "request_not_supported",
      "request_uri_not_supported", "registration_not_supported", "invalid_target",
    ]
    return names.contains(error) ? error : "other"
  }
}
