import AgentModel
import AgentOAuth
import Testing

@Suite struct TrustedAudienceTests {
  private static let scopes = [
    "openid", "profile", "audience:server:client_id:api", "urn:zitadel:iam:org:project:id:123:aud",
  ]

  private func isTrusted(_ audience: String) -> Bool {
    var configuration = ProviderConfiguration(name: ProviderName("idp")!, issuer: "https://idp.test", clientID: "me")
    configuration.resources = ["https://api.test/v1"]
    configuration.authorizationParameters = ["audience": "https://audience.test", "access_type": "offline"]
    return Provider(configuration: configuration).trusts(audience: audience, askedWith: Self.scopes)
  }

  @Test(arguments: ["https://api.test/v1", "https://audience.test", "api", "123"])
  func audienceThatWasAskedFor_isTrusted(audience: String) { #expect(isTrusted(audience)) }

  @Test(arguments: [
    "openid", "profile", "offline", "audience", "client_id", "urn", "id", "aud", "https", "https://api.test/", "",
  ])
  func wordOfAScopeOrOfAParameter_isNoAudience(audience: String) { #expect(!isTrusted(audience)) }
}
