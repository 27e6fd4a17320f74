import AgentCore
import AgentModel
import Testing

/// The values that each preset fills in.
@Suite struct ProviderPresetTests {
  typealias Row = (
    name: String, issuer: String?, scopes: String, reuse: ProviderConfiguration.RefreshRule.Reuse, grace: Int64,
    revocation: ProviderConfiguration.RevocationScope, tenant: ProviderConfiguration.TenantRule?, claim: String?,
    table: String?
  )

  static let usual = "openid profile email offline_access"
  static let rows: [Row] = [
    ("auth0", nil, usual, .strict, 0, .grant, nil, "org_id", "auth0"),
    ("entra", nil, usual, .none, 0, .family, .claim("tid"), nil, "entra"),
    (
      "github", "https://github.com/login/oauth", "read:user user:email", .strict, 0, .family, nil, nil, "github"
    ),
    ("gitlab", "https://gitlab.com", "openid profile email", .strict, 0, .token, nil, nil, nil),
    ("google", "https://accounts.google.com", "openid profile email", .none, 0, .grant, nil, "hd", "google"),
    ("keycloak", nil, usual, .strict, 0, .grant, nil, nil, "keycloak"),
    ("okta", nil, usual, .grace, 30, .family, nil, nil, "okta"),
  ]

  @Test(arguments: rows) func presetValues_matchTheTable(row: Row) throws {
    let preset = try #require(ProviderPreset.named(row.name))
    #expect(preset.issuer == row.issuer)
    #expect((preset.issuer == nil) == (preset.issuerTemplate != nil), "a preset without an issuer has a template")
    #expect(preset.failures?.name == row.table)
    var configuration = ProviderConfiguration(
      name: ProviderName("idp")!, issuer: preset.issuer ?? "https://idp.example", clientID: "app")
    preset.fill(&configuration)
    #expect(configuration.preset == row.name)
    #expect(configuration.scopes == row.scopes.split(separator: " ").map(String.init))
    #expect(configuration.refresh.reuse == row.reuse)
    #expect(configuration.refresh.graceSeconds == row.grace)
    #expect(configuration.onUnknownOutcome == (row.revocation == .grant ? .reauthenticate : .replayLast))
    #expect(configuration.revocationScope == row.revocation)
    #expect(configuration.tenant == row.tenant)
    #expect(configuration.authorization.tenantClaim == row.claim)
  }

  @Test func presets_areExactlyThoseInTheTable() {
    #expect(ProviderPreset.all.map(\.name) == Self.rows.map(\.name))
    #expect(ProviderPreset.named("no-such") == nil)
  }

  /// Endpoints of one server are never used with another issuer.
  @Test func presetEndpoints_applyToTheirOwnIssuerOnly() throws {
    let github = try #require(ProviderPreset.named("github"))
    let token = "https://github.com/login/oauth/access_token"
    #expect(github.endpoints(at: "https://github.com/login/oauth").token == token)
    #expect(github.endpoints(at: "https://github.example") == ServerMetadata.Endpoints())
  }
}
