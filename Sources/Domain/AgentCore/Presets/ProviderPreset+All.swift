internal import AgentModel

/// Some providers let an administrator choose refresh token rotation (Okta, Auth0, Keycloak). Their presets assume
/// rotation with the provider's default grace: a wrong guess this way costs one sign-in, the other way a token family.
/// `refresh` in the configuration overrides it.
extension ProviderPreset {
  /// All presets, ordered by name.
  public static let all = [auth0, entra, github, gitlab, google, keycloak, okta]

  /// auth0.com/docs/secure/tokens/refresh-tokens: rotation has no overlap by default; a revocation may delete the grant
  /// ("Refresh Token Revocation Deletes Grant").
  public static let auth0 = make("auth0") {
    $0.issuerTemplate = "https://TENANT.auth0.com/"
    $0.revocationScope = .grant
    $0.tenantClaim = "org_id"
    $0.failures = .auth0
  }

  /// learn.microsoft.com/entra/identity-platform/refresh-tokens: each use gives a new refresh token and the old ones
  /// stay valid. There is no revocation endpoint. v2.0 ID tokens always name the tenant; `common` and `organizations`
  /// as the tenant accept people of any tenant.
  public static let entra = make("entra") {
    $0.issuerTemplate = "https://login.microsoftonline.com/TENANT-ID/v2.0"
    $0.hasIssuerOfEachTenant = true
    $0.assertionAudience = .tokenEndpoint
    $0.refresh.reuse = .none
    $0.narrowing = .keeps  // refresh tokens "aren't bound to a resource or scope"
    $0.tenant = .claim("tid")
    $0.failures = .entra
  }

  /// docs.github.com/apps, "Refreshing user access tokens": "Once you use a refresh token, that refresh token and the
  /// old user access token will no longer work." The client secret is a form parameter. GitHub has no discovery, no ID
  /// tokens and no RFC 7009. Tokens of an OAuth app neither expire nor are refreshed, so they are stored.
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

  /// docs.gitlab.com/api/oauth2: a refresh invalidates both earlier tokens. GitLab issues refresh tokens without
  /// `offline_access`, which it does not know. For a self-managed server, set `issuer`.
  public static let gitlab = make("gitlab") {
    $0.issuer = "https://gitlab.com"
    $0.scopes = ["openid", "profile", "email"]
    $0.revocationScope = .token
  }

  /// developers.google.com/identity/protocols/oauth2/native-app: refresh tokens do not rotate, and installed
  /// applications get them without `offline_access`, which Google does not know. A revocation ends the person's
  /// authorization of the client. `hd` names the person's Workspace, if any.
  public static let google = make("google") {
    $0.issuer = "https://accounts.google.com"
    $0.scopes = ["openid", "profile", "email"]
    $0.refresh.reuse = .none
    $0.narrowing = .keeps  // without rotation there is no other refresh token that fewer scopes could stick to
    $0.revocationScope = .grant
    $0.tenantClaim = "hd"
    $0.failures = .google
  }

  /// "Revoke Refresh Token" with "Refresh Token Max Reuse" 0. Sign-ins in one browser session share the session that a
  /// revocation ends.
  public static let keycloak = make("keycloak") {
    $0.issuerTemplate = "https://HOST/realms/REALM"
    $0.revocationScope = .grant
    $0.failures = .keycloak
  }

  /// developer.okta.com/docs/guides/refresh-tokens: rotated tokens have a grace of 30 seconds by default. Persistent
  /// tokens, the default for native applications, work with these settings too.
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
