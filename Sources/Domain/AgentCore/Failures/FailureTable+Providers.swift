/// Errors of other providers beyond the standards. An error that means the same as in the standard table has no row.
/// GitLab (Doorkeeper) follows RFC 6749 and has no table.
extension FailureTable {
  /// developers.google.com/identity/protocols/oauth2, read on 2026-11-23, where no row names another source. A dead refresh
  /// token is `invalid_grant`; a suspended person has no word of their own.
  public static let google = FailureTable(
    "google",
    [
      // Google Workspace session length: the person must reauthenticate, the refresh token stays valid
      // (support.google.com/a/answer/9368756, read on 2026-11-29).
      .suberror("invalid_rapt", .interaction),
      // "Refresh token expiration": a scope became restricted.
      .error("admin_policy_enforced", .misconfigured),
      // "Errors"; the token endpoint answers 401.
      .error("deleted_client", .misconfigured, as: "invalid_client"),
      // google-auth retries it.
      .error("internal_failure", .transient),
      // A quota: status 403 with `error_code` (…/oauth2/limited-input-device; support.google.com/cloud/answer/9028764, read
      // on 2026-11-29).
      .code("rate_limit_exceeded", .throttled),
    ])

  /// docs.github.com, "Troubleshooting OAuth app access token request errors" and, for the device flow, "Authorizing OAuth
  /// apps", read on 2026-11-29. All have status 200. They name neither a rate limit nor a suspended person.
  public static let github = FailureTable(
    "github",
    [
      // Not on those pages; seen on 2024-07-17 (interlink-hq/interLink pull request 262, read on 2026-11-29).
      .error("bad_refresh_token", .reauthenticate),
      .error("unverified_user_email", .interaction),
      .error("incorrect_client_credentials", .misconfigured, as: "invalid_client"),
      .error("redirect_uri_mismatch", .misconfigured),
      .error("device_flow_disabled", .misconfigured, as: "unauthorized_client"),
    ])

  /// A dead refresh token is answered with 403 and `unauthorized_client`, seen on 2024-04-16 (raycast/extensions issue
  /// 11836) and on 2025-08-19 (ParabolInc/parabol issue 11849). The documented answer is 403 with `invalid_grant`
  /// (developer.atlassian.com/cloud/oauth/getting-started/refresh-tokens, read on 2026-11-28), which needs no row.
  public static let atlassian = FailureTable(
    "atlassian", [.description("refresh_token is invalid", .reauthenticate)])

  /// From the source of Gitea, `handleRefreshToken` in routers/web/auth/oauth2_provider.go, read on 2026-11-28. Both come
  /// with `unauthorized_client`; Forgejo has the same words.
  public static let gitea = FailureTable(
    "gitea",
    [
      // The token has expired, or is none of this server's.
      .description("unable to parse refresh token", .reauthenticate),
      // With rotation turned on (`INVALIDATE_REFRESH_TOKENS`).
      .description("token was already used", .reauthenticate),
    ])

  /// All with `invalid_grant`, as a dead refresh token is, with another description (help.salesforce.com, "OAuth 2.0
  /// Authorization Errors", read on 2026-11-28).
  public static let salesforce = FailureTable(
    "salesforce",
    [
      // A person who was deactivated, seen on 2017-05-05 (restforce/restforce issue 303).
      .description("inactive user", .locked),
      // Another request with the same refresh token is at work, also one whose answer was lost: the next attempt shows what
      // became of the token. Seen on 2024-06-25 (forcedotcom/SalesforceMobileSDK-iOS issue 3731) and on 2026-09-16
      // (forcedotcom/sfdx-core pull request 1342), read on 2026-11-29.
      .description("token request is already being processed", .transient, as: "temporarily_unavailable"),
    ])

  /// A dead refresh token is answered with `invalid_request`, seen on 2017-07-05 (readthedocs/readthedocs.org issue 2992,
  /// read on 2026-11-29).
  public static let bitbucket = FailureTable(
    "bitbucket", [.description("Invalid refresh_token", .reauthenticate)])

  /// docs.slack.dev, errors of `openid.connect.token`, read on 2026-11-29. All have status 200. There are no refresh tokens.
  public static let slack = FailureTable(
    "slack",
    [
      .error("bad_client_secret", .misconfigured, as: "invalid_client"),
      .error("invalid_client_id", .misconfigured, as: "invalid_client"),
      .error("bad_redirect_uri", .misconfigured),
      .error("ratelimited", .throttled),
      .error("internal_error", .transient),
      .error("service_unavailable", .transient),
    ])

  /// developer.okta.com/docs/reference/error-codes, read on 2026-11-23: rate limits, including those of the tenant. The errors
  /// of the token endpoint (okta/okta-developer-docs, data/oauth2-error-codes.json, release 2026.03.1, read on 2026-11-29) are
  /// `invalid_grant` for a dead refresh token, and `invalid_grant` with 429 for a person's own rate limit. Among its errors
  /// of grants none is about a deactivated person.
  public static let okta = FailureTable("okta", [.code("E0000047", .throttled)])

  /// auth0.com/docs/libraries/common-auth0-library-authentication-errors, read on 2026-11-23. A dead refresh token is 403 with
  /// `invalid_grant` (support.auth0.com, "Troubleshoot Refresh Token Unknown or Invalid Before Expiry", read on 2026-11-29).
  public static let auth0 = FailureTable(
    "auth0",
    [
      // For a blocked person: with `invalid_grant` on refresh (auth0/auth0-spa-js pull request 1525), with `unauthorized`
      // elsewhere.
      .description("user is blocked", .locked),
      .error("too_many_attempts", .throttled),
      // The tenant's limit, seen on 2022-02-01 with 500 and `access_denied` (community.auth0.com/t/77440, read on 2026-11-29).
      .description("Global limit has been reached", .throttled),
    ])

  /// From Keycloak's source, `TokenManager.validateToken` and the checks before the token endpoint, read on 2026-11-29. It has
  /// no rate limit there.
  public static let keycloak = FailureTable(
    "keycloak",
    [
      // With `invalid_grant`. Keycloak's other descriptions there mean an ended session.
      .description("User disabled", .locked),
      // With `invalid_scope`: the person withdrew consent.
      .description("Client no longer has requested consent from user", .interaction),
      // With `access_denied` and `invalid_request`.
      .description("Realm not enabled", .misconfigured, as: "unauthorized_client"),
      .description("HTTPS required", .misconfigured, as: "invalid_request"),
    ])
}
