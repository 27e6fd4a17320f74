/// What the others say beyond the standards. A word that means what the standard table says of it has no row.
/// GitLab (Doorkeeper) keeps to RFC 6749 and has no table.
extension FailureTable {
  public static let google = FailureTable(
    "google",
    [
      // Session length of a Workspace: a new proof of the person, while the refresh token lives
      // (support.google.com/a/answer/9368756).
      .suberror("invalid_rapt", .interaction),
      // developers.google.com/identity/protocols/oauth2, "Refresh token expiration": a scope became restricted.
      .error("admin_policy_enforced", .misconfigured),
      // As above, "Errors"; the token endpoint says it with 401.
      .error("deleted_client", .misconfigured, as: "invalid_client"),
      // google-auth tries again on it.
      .error("internal_failure", .transient),
      // A quota, said with 403 and `error_code` (…/oauth2/limited-input-device).
      .code("rate_limit_exceeded", .throttled),
    ])

  /// docs.github.com, "Troubleshooting OAuth app access token request errors" and "Refreshing user access tokens": all of
  /// them with status 200.
  public static let github = FailureTable(
    "github",
    [
      .error("bad_refresh_token", .reauthenticate),
      .error("unverified_user_email", .interaction),
      .error("incorrect_client_credentials", .misconfigured, as: "invalid_client"),
      .error("redirect_uri_mismatch", .misconfigured),
      .error("device_flow_disabled", .misconfigured, as: "unauthorized_client"),
    ])

  /// developer.okta.com/docs/reference/error-codes: rate limits, also of a tenant behind the endpoint's own.
  public static let okta = FailureTable("okta", [.code("E0000047", .throttled)])

  public static let auth0 = FailureTable(
    "auth0",
    [
      // A blocked person's refresh is `invalid_grant` and so described (auth0-spa-js pull request 1525); elsewhere it is
      // `unauthorized` with the same words.
      .description("user is blocked", .locked),
      // auth0.com/docs/libraries/common-auth0-library-authentication-errors.
      .error("too_many_attempts", .throttled),
    ])

  /// From the server's source: `TokenManager.validateToken`, and the checks at the token endpoint's door.
  public static let keycloak = FailureTable(
    "keycloak",
    [
      // With `invalid_grant`. All its other descriptions there mean a session that has ended.
      .description("User disabled", .locked),
      // With `invalid_scope`: the consent was withdrawn.
      .description("Client no longer has requested consent from user", .interaction),
      // With `access_denied` and `invalid_request`.
      .description("Realm not enabled", .misconfigured, as: "unauthorized_client"),
      .description("HTTPS required", .misconfigured, as: "invalid_request"),
    ])
}
