internal import AgentModel

/// Where an administrator decides whether refresh tokens are rotated (Okta, Auth0, Keycloak), the preset assumes that
/// they are, with the grace that the server gives unless told otherwise: too careful costs a sign-in, too bold a family
/// of tokens. Who knows better says so with `refresh`.
extension ProviderPreset {
  /// In the order of their names.
  public static let all = [auth0, entra, github, gitlab, google, keycloak, okta]

  /// auth0.com/docs/secure/tokens/refresh-tokens: rotation without overlap unless an overlap is set; a revocation may
  /// delete the grant ("Refresh Token Revocation Deletes Grant").
  public static let auth0 = make("auth0") {
    $0.issuerTemplate = "https://TENANT.auth0.com/"
    $0.revocationScope = .grant
    $0.tenantClaim = "org_id"
    $0.failures = .auth0
  }

  /// learn.microsoft.com/entra/identity-platform/refresh-tokens: a new refresh token with each use, and the old ones are
  /// not revoked. There is no revocation endpoint. ID tokens of v2.0 name the tenant always; `common` or `organizations`
  /// in place of the tenant's id take people of any.
  public static let entra = make("entra") {
    $0.issuerTemplate = "https://login.microsoftonline.com/TENANT-ID/v2.0"
    $0.hasIssuerOfEachTenant = true
    $0.assertionAudience = .tokenEndpoint
    $0.refresh.reuse = .none
    $0.tenant = .claim("tid")
    $0.failures = .entra
  }

  /// docs.github.com/apps, "Refreshing user access tokens": "Once you use a refresh token, that refresh token and the old
  /// user access token will no longer work." The secret is a parameter. No discovery, no ID tokens, no RFC 7009. Tokens of
  /// an OAuth app neither expire nor are refreshed, so they are kept.
  public static let github = make("github") {
    $0.issuer = "https://github.com/login/oauth"
    $0.scopes = ["read:user", "user:email"]
    $0.endpoints.authorization = "https://github.com/login/oauth/authorize"
    $0.endpoints.token = "https://github.com/login/oauth/access_token"
    $0.endpoints.deviceAuthorization = "https://github.com/login/device/code"
    $0.endpoints.userinfo = "https://api.github.com/user"
    $0.tokenEndpointAuthMethods = ["client_secret_post"]
    $0.persistAccessTokens = true
    $0.failures = .github
  }

  /// docs.gitlab.com/api/oauth2: a refresh invalidates the access and the refresh token before it; refresh tokens come
  /// unasked, and there is no `offline_access`. Servers of one's own are named by `issuer`.
  public static let gitlab = make("gitlab") {
    $0.issuer = "https://gitlab.com"
    $0.scopes = ["openid", "profile", "email"]
    $0.revocationScope = .token
  }

  /// developers.google.com/identity/protocols/oauth2/native-app: refresh tokens stay as they are, come unasked to
  /// installed applications, and there is no `offline_access`. Revoking one ends the person's authorization of the
  /// client. `hd` names the Workspace of those who have one.
  public static let google = make("google") {
    $0.issuer = "https://accounts.google.com"
    $0.scopes = ["openid", "profile", "email"]
    $0.refresh.reuse = .none
    $0.revocationScope = .grant
    $0.tenantClaim = "hd"
    $0.failures = .google
  }

  /// "Revoke Refresh Token" with "Refresh Token Max Reuse" 0. Sign-ins of one browser session share what a revocation
  /// ends.
  public static let keycloak = make("keycloak") {
    $0.issuerTemplate = "https://HOST/realms/REALM"
    $0.revocationScope = .grant
    $0.failures = .keycloak
  }

  /// developer.okta.com/docs/guides/refresh-tokens: rotated ones have a grace of 30 seconds unless told otherwise;
  /// persistent ones, which native applications get unless told otherwise, lose nothing by it.
  public static let okta = make("okta") {
    $0.issuerTemplate = "https://ORG.okta.com/oauth2/default"
    $0.assertionAudience = .endpoint
    $0.refresh.reuse = .grace
    $0.refresh.graceSeconds = 30
    $0.failures = .okta
  }

  private static func make(_ name: String, _ say: (inout ProviderPreset) -> Void) -> ProviderPreset {
    var preset = ProviderPreset(name)
    say(&preset)
    return preset
  }
}
