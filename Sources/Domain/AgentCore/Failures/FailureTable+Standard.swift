extension FailureTable {
  /// What the standards say, for every provider.
  ///
  /// `invalid_request` stands in no table: our request was good the last time, and real servers answer a dead token
  /// with it. Like everything else that is in no table it is an unexplained refusal.
  public static let standard = FailureTable(
    "standard",
    [
      // RFC 9110 §15: a server's trouble is not the token's end, whatever it says beside. A redirect is not followed,
      // and who redirects a token request is a portal or a proxy.
      .status(300...399, .transient),
      .status(408, .transient),
      .status(425, .transient),
      .status(429, .throttled),
      .status(500...599, .transient),

      // Microsoft's refinements of `invalid_grant` and `interaction_required` (MSAL, InvalidGrantClassification);
      // others took them over.
      .suberror("consent_required", .interaction),
      .suberror("basic_action", .interaction),
      .suberror("additional_action", .interaction),
      .suberror("message_only", .interaction),
      .suberror("user_password_expired", .interaction),
      // About this device and this audience, not about the refresh token.
      .suberror("device_authentication_failed", .interaction),
      .suberror("protection_policy_required", .interaction),
      .suberror("bad_token", .reauthenticate),
      .suberror("token_expired", .reauthenticate),
      .suberror("account_disabled", .locked),
      .suberror("user_disabled", .locked),

      // RFC 6749 §5.2.
      .claims(with: "invalid_grant", .interaction),
      .error("invalid_grant", .reauthenticate),
      .error("invalid_client", .misconfigured),
      .error("unauthorized_client", .misconfigured),
      .error("unsupported_grant_type", .misconfigured),
      .error("invalid_scope", .misconfigured),
      // RFC 6749 §4.1.2.1, which token endpoints say too.
      .error("server_error", .transient),
      .error("temporarily_unavailable", .transient),
      // RFC 6750 §3.1: some say it of refresh tokens.
      .error("invalid_token", .reauthenticate),
      // RFC 8628 §3.5.
      .error("slow_down", .transient),
      // RFC 8707 §2.
      .error("invalid_target", .misconfigured),
      // RFC 9449 §5 and §8: the server wants proofs of possession, which this client was not registered for.
      .error("invalid_dpop_proof", .misconfigured),
      .error("use_dpop_nonce", .misconfigured),
      // RFC 9470 §3.
      .error("insufficient_user_authentication", .interaction),
      // OpenID Connect Core §3.1.2.6.
      .error("interaction_required", .interaction),
      .error("login_required", .interaction),
      .error("account_selection_required", .interaction),
      .error("consent_required", .interaction),
      // No standard, but said by several.
      .error("mfa_required", .interaction),
      .error("account_disabled", .locked),
      .error("user_disabled", .locked),
    ])
}
