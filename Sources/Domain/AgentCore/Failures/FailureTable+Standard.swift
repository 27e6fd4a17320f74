extension FailureTable {
  /// Errors of the standards, for every provider.
  ///
  /// `invalid_request` has no row: the same request succeeded before, and some servers answer it for a dead refresh
  /// token. Like every error without a row, it is an unexplained refusal.
  public static let standard = FailureTable(
    "standard",
    [
      // RFC 9110 §15: these statuses concern the server, regardless of the body. Redirects are not followed; a
      // redirect of a token request comes from a portal or a proxy.
      .status(300...399, .transient),
      .status(408, .transient),
      .status(425, .transient),
      .status(429, .throttled),
      .status(500...599, .transient),

      // A rate limit under another status than 429, whatever `error` stands beside it: Zoho sends 400 with `Access Denied` and
      // "You have made too many requests continuously" (zoho.com/crm/developer/docs/api/v3/token-validity.html, read on
      // 2026-11-29). A pause ends no session, so words of any server are enough.
      .phrase("too many requests", .throttled),
      .phrase("rate limit", .throttled),
      // Salesforce says `Login Rate Exceeded` (restforce/restforce issue 412, read on 2026-11-29).
      .phrase("rate exceeded", .throttled),

      // Microsoft's refinements of `invalid_grant` and `interaction_required` (MSAL, InvalidGrantClassification), which
      // other providers use too.
      .suberror("consent_required", .interaction),
      .suberror("basic_action", .interaction),
      .suberror("additional_action", .interaction),
      .suberror("message_only", .interaction),
      .suberror("user_password_expired", .interaction),
      // They concern this device and this audience, not the refresh token.
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
      // RFC 6749 §4.1.2.1. Token endpoints send them too.
      .error("server_error", .transient),
      .error("temporarily_unavailable", .transient),
      // RFC 6750 §3.1. Some token endpoints send it for a refresh token.
      .error("invalid_token", .reauthenticate),
      // What servers that people run or use without a preset say of a dead refresh token, read on 2026-11-29. Dex, with
      // `invalid_request` (server/grants/refresh.go).
      .description("Refresh token is invalid or has already been claimed by another client.", .reauthenticate),
      .description("Refresh token expired.", .reauthenticate),
      // Twitch, in `message` (dev.twitch.tv/docs/authentication/refresh-tokens).
      .description("Invalid refresh token", .reauthenticate),
      // HubSpot, in `message` (nango.dev/blog/hubspot-oauth-bad-refresh-token).
      .description("missing or invalid refresh token", .reauthenticate),
      // Zoho, with status 200 (zoho.com/crm/developer/docs/api/v2/token-validity.html).
      .error("invalid_code", .reauthenticate),
      // RFC 8628 §3.5.
      .error("slow_down", .transient),
      // RFC 8707 §2.
      .error("invalid_target", .misconfigured),
      // RFC 9396 §5.
      .error("invalid_authorization_details", .misconfigured),
      // RFC 9449 §5 and §8: the server requires DPoP, which this grant does not use.
      .error("invalid_dpop_proof", .misconfigured),
      .error("use_dpop_nonce", .misconfigured),
      // RFC 9470 §3.
      .error("insufficient_user_authentication", .interaction),
      // OpenID Connect Core §3.1.2.6.
      .error("interaction_required", .interaction),
      .error("login_required", .interaction),
      .error("account_selection_required", .interaction),
      .error("consent_required", .interaction),
      // Not standardised; several providers send them.
      .error("mfa_required", .interaction),

      // Stable codes of API contracts, written without `AUTH_`. The four ends of a session, as contracts spell them…
      .contract("SESSION_REVOKED", .reauthenticate, because: "revoked"),
      .contract("REFRESH_TOKEN_REVOKED", .reauthenticate, because: "revoked"),
      .contract("TOKEN_REVOKED", .reauthenticate, because: "revoked"),
      .contract("SESSION_EXPIRED", .reauthenticate, because: "expired"),
      .contract("REFRESH_TOKEN_EXPIRED", .reauthenticate, because: "expired"),
      .contract("SESSION_REUSED", .reauthenticate, because: "reused"),
      .contract("REFRESH_TOKEN_REUSED", .reauthenticate, because: "reused"),
      .contract("TOKEN_REUSED", .reauthenticate, because: "reused"),
      .contract("SESSION_INVALID", .reauthenticate),
      .contract("REFRESH_TOKEN_INVALID", .reauthenticate),
      .contract("INVALID_REFRESH_TOKEN", .reauthenticate),
      .contract("TOKEN_INVALID", .reauthenticate),
      // …as Supabase sends them (supabase.com/docs/guides/auth/debugging/error-codes)…
      .contract("REFRESH_TOKEN_ALREADY_USED", .reauthenticate, because: "reused"),
      .contract("REFRESH_TOKEN_NOT_FOUND", .reauthenticate),
      .contract("SESSION_NOT_FOUND", .reauthenticate, because: "revoked"),
      .contract("USER_BANNED", .locked),
      // …and Firebase, as `message` of an object in `error` (firebase.google.com/docs/reference/rest/auth).
      .contract("TOKEN_EXPIRED", .reauthenticate, because: "expired"),
      .contract("USER_NOT_FOUND", .reauthenticate),
      .contract("USER_DISABLED", .locked),
      .contract("ACCOUNT_DISABLED", .locked),
      // The refresh token is all that the request proves itself by; it proves nothing any more.
      .contractWord("UNAUTHORIZED", .reauthenticate),
      // Known, and not allowed: no new sign-in changes that, and no session has ended.
      .contractWord("FORBIDDEN", .misconfigured, as: "access_denied"),
    ])
}
