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
    ("atlassian", "https://auth.atlassian.com", "read:me offline_access", .strict, 0, .family, nil, nil, "atlassian"),
    ("auth0", nil, usual, .strict, 0, .family, nil, "org_id", "auth0"),
    ("bitbucket", "https://bitbucket.org", "account email", .strict, 0, .family, nil, nil, "bitbucket"),
    ("box", "https://api.box.com", "", .strict, 0, .family, nil, nil, nil),
    ("dropbox", "https://www.dropbox.com", "openid profile email", .strict, 0, .family, nil, nil, nil),
    ("entra", nil, usual, .none, 0, .family, .claim("tid"), nil, "entra"),
    (
      "fastmail", "https://api.fastmail.com", usual + " urn:ietf:params:oauth:scope:mail", .strict, 0, .family, nil,
      nil,
      nil
    ),
    ("gitea", nil, "openid profile email", .strict, 0, .family, nil, nil, "gitea"),
    (
      "github", "https://github.com/login/oauth", "read:user user:email", .strict, 0, .family, nil, nil, "github"
    ),
    ("github-enterprise", nil, "read:user user:email", .strict, 0, .family, nil, nil, "github"),
    ("gitlab", "https://gitlab.com", "openid profile email", .strict, 0, .token, nil, nil, nil),
    ("google", "https://accounts.google.com", "openid profile email", .none, 0, .grant, nil, "hd", "google"),
    ("huggingface", "https://huggingface.co", "openid profile email", .strict, 0, .family, nil, nil, nil),
    ("keycloak", nil, usual, .strict, 0, .grant, nil, nil, "keycloak"),
    (
      "microsoft-personal", "https://login.microsoftonline.com/consumers/v2.0", usual, .none, 0, .family,
      .claim("tid"), nil, "entra"
    ),
    ("okta", nil, usual, .grace, 30, .family, nil, nil, "okta"),
    ("salesforce", "https://login.salesforce.com", usual, .strict, 0, .family, nil, nil, "salesforce"),
    (
      "slack", "https://slack.com", "openid profile email", .strict, 0, .family, .claim("https://slack.com/team_id"),
      nil,
      "slack"
    ),
    ("zoom", "https://zoom.us", "", .strict, 0, .family, nil, nil, nil),
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

  @Test func presetsOfSignIns_areExactlyThoseInTheTable() {
    #expect(ProviderPreset.all.filter { $0.kind == .openid }.map(\.name) == Self.rows.map(\.name))
    #expect(ProviderPreset.named("no-such") == nil)
  }

  /// Endpoints of one server are never used with another issuer.
  @Test func presetEndpoints_applyToTheirOwnIssuerOnly() throws {
    let github = try #require(ProviderPreset.named("github"))
    let token = "https://github.com/login/oauth/access_token"
    #expect(github.endpoints(at: "https://github.com/login/oauth").token == token)
    #expect(github.endpoints(at: "https://github.example") == ServerMetadata.Endpoints())
  }

  typealias Request = (
    name: String, host: String, comparesPort: Bool, parameters: [String: String], takesResource: Bool, secret: Bool,
    device: Bool
  )

  /// What each preset says of the requests of a sign-in.
  static let requests: [Request] = [
    ("atlassian", "127.0.0.1", true, ["audience": "api.atlassian.com"], true, true, false),
    ("auth0", "127.0.0.1", true, [:], true, false, false),
    ("bitbucket", "127.0.0.1", true, [:], true, true, false),
    ("box", "127.0.0.1", true, [:], true, true, false),
    ("dropbox", "127.0.0.1", true, ["token_access_type": "offline"], true, false, false),
    ("entra", "localhost", false, [:], false, false, false),
    ("fastmail", "127.0.0.1", false, [:], true, false, false),
    ("github", "127.0.0.1", false, [:], true, false, true),
    ("github-enterprise", "127.0.0.1", false, [:], true, false, true),
    ("gitlab", "127.0.0.1", false, [:], true, false, false),
    ("google", "127.0.0.1", false, ["access_type": "offline"], true, true, false),
    ("huggingface", "127.0.0.1", true, [:], true, false, false),
    ("keycloak", "127.0.0.1", false, [:], true, false, false),
    ("microsoft-personal", "localhost", false, [:], false, false, false),
    ("okta", "127.0.0.1", true, [:], true, false, false),
    ("salesforce", "127.0.0.1", true, [:], true, false, false),
    ("slack", "localhost", true, [:], true, false, false),
  ]

  @Test(arguments: requests) func presetRequests_matchTheTable(row: Request) throws {
    let preset = try #require(ProviderPreset.named(row.name))
    var configuration = ProviderConfiguration(
      name: ProviderName("idp")!, issuer: "https://idp.example", clientID: "app")
    configuration.resources = ["https://api.example"]
    preset.fill(&configuration)
    #expect(configuration.redirect.host == row.host)
    #expect(preset.comparesRedirectPort == row.comparesPort)
    #expect(configuration.authorizationParameters == row.parameters)
    #expect(configuration.sentResources == (row.takesResource ? ["https://api.example"] : []))
    #expect(preset.needsClientSecret == row.secret)
    #expect(preset.suggestsDevice == row.device)
  }

  @Test func everyParameterOfAPreset_isOneThatTheAgentTakes() {
    for preset in ProviderPreset.all {
      for (name, value) in preset.authorizationParameters {
        #expect(AuthorizationParameters.refusal(of: name, value) == nil, "\(preset.name): \(name)")
      }
      for name in preset.parameterHints.keys {
        #expect(AuthorizationParameters.refusal(of: name, "value") == nil, "\(preset.name): \(name)")
      }
    }
  }

  /// A sign-in that names no prompt has the one that the provider needs.
  @Test func defaultPrompt_isThePresets() throws {
    var configuration = ProviderConfiguration(
      name: ProviderName("idp")!, issuer: "https://idp.example", clientID: "app")
    #expect(configuration.defaultPrompt == nil)
    try #require(ProviderPreset.named("atlassian")).fill(&configuration)
    #expect(configuration.defaultPrompt == "consent")
    #expect(ProviderPreset.all.filter { $0.prompt != nil }.map(\.name) == ["atlassian"])
  }

  /// A provider that was added with an older preset.
  @Test func presetDifferences_areTheHostAndTheMissingParameters() throws {
    var configuration = ProviderConfiguration(
      name: ProviderName("idp")!, issuer: "https://idp.example", clientID: "app")
    #expect(configuration.presetDifferences.isEmpty, "there is no preset")
    configuration.preset = "entra"
    #expect(configuration.presetDifferences.redirectHost == "localhost")
    #expect(configuration.presetDifferences.missingParameters == [])
    configuration.redirect.port = 8765
    #expect(configuration.presetDifferences.isEmpty, "a registered redirect URI is the person's")
    configuration.redirect.port = nil
    configuration.preset = "google"
    #expect(configuration.presetDifferences.redirectHost == nil)
    #expect(configuration.presetDifferences.missingParameters.map(\.name) == ["access_type"])
    #expect(configuration.presetDifferences.missingParameters.map(\.value) == ["offline"])
    configuration.authorizationParameters["access_type"] = "online"
    #expect(configuration.presetDifferences.isEmpty, "another value is the person's")
    for preset in ProviderPreset.all where preset.kind == .openid {
      preset.fill(&configuration)
      configuration.redirect.host = preset.redirectHost
      configuration.authorizationParameters = preset.authorizationParameters
      #expect(configuration.presetDifferences.isEmpty, "\(preset.name)")
    }
  }

  /// The device request has the parameters that are not of the browser's page alone.
  @Test func deviceParameters_leaveOutThoseOfTheBrowser() throws {
    var configuration = ProviderConfiguration(
      name: ProviderName("idp")!, issuer: "https://idp.example", clientID: "app")
    try #require(ProviderPreset.named("google")).fill(&configuration)
    configuration.authorizationParameters["hd"] = "acme.example"
    #expect(configuration.deviceParameters.map(\.name) == ["hd"])
    configuration.preset = nil
    #expect(configuration.deviceParameters.map(\.name) == ["access_type", "hd"])
  }

  /// `provider.update` with a preset: what the person chose stays, what the former preset chose goes.
  @Test func describe_replacesWhatTheFormerPresetFilledIn() throws {
    let (google, entra) = (try #require(ProviderPreset.named("google")), try #require(ProviderPreset.named("entra")))
    var configuration = ProviderConfiguration(
      name: ProviderName("idp")!, issuer: "https://idp.example", clientID: "app")
    google.fill(&configuration)
    entra.describe(&configuration)
    #expect(configuration.authorizationParameters == [:])
    #expect(configuration.redirect.host == "localhost")
    configuration.authorizationParameters = ["domain_hint": "acme.example"]
    configuration.redirect.port = 8765
    google.describe(&configuration)
    #expect(configuration.authorizationParameters == ["domain_hint": "acme.example"])
    #expect(configuration.redirect.host == "localhost", "a registered redirect URI stays")
  }

  @Test func endpointsOfACustomer_areAtTheIssuersOwnHost() throws {
    let enterprise = try #require(ProviderPreset.named("github-enterprise"))
    let endpoints = enterprise.endpoints(at: "https://git.corp.example/login/oauth")
    #expect(endpoints.token == "https://git.corp.example/login/oauth/access_token")
    #expect(endpoints.userinfo == "https://git.corp.example/api/v3/user")
    #expect(enterprise.endpoints(at: "https://git.corp.example/login") == ServerMetadata.Endpoints())
  }

  @Test func hosts_coverTheirSubdomainsOnlyWithAWildcard() throws {
    let (okta, google) = (try #require(ProviderPreset.named("okta")), try #require(ProviderPreset.named("google")))
    #expect(okta.isKnown(by: "acme.okta.com"))
    for host in ["okta.com", ".okta.com", "notokta.com", "acme.okta.com.example"] {
      #expect(!okta.isKnown(by: host), "\(host)")
    }
    #expect(google.isKnown(by: "accounts.google.com"))
    #expect(!google.isKnown(by: "evil.accounts.google.com"))
  }
}
