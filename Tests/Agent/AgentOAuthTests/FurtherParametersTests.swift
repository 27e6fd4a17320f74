import AgentCore
import AgentModel
import AgentPorts
import AgentSimulation
import Secrets
import Testing

import AgentOAuth

/// The further parameters of a provider in each request of a sign-in.
@Suite struct FurtherParametersTests {
  private var configuration: ProviderConfiguration {
    var configuration = ProviderConfiguration(
      name: ProviderName("idp")!, issuer: "https://idp.example", clientID: "app")
    configuration.scopes = ["openid"]
    configuration.resources = ["https://api.example"]
    configuration.authorizationParameters = ["audience": "a&b=c ü", "access_type": "offline"]
    return configuration
  }

  private func form(_ body: consuming FormBody) -> String {
    body.finish().withBytes { String(decoding: $0, as: UTF8.self) }
  }

  @Test func authorizationRequest_hasTheParametersOnce() {
    let request = AuthorizationRequest(redirectURI: "http://127.0.0.1/callback", entropy: SeededEntropy(seed: 1))
    let sent = request.parameters(of: configuration, scopes: ["openid"], prompt: nil, loginHint: nil)
    #expect(sent.filter { $0.0 == "audience" }.map(\.1) == ["a&b=c ü"])
    #expect(sent.filter { $0.0 == "access_type" }.map(\.1) == ["offline"])
    #expect(Set(sent.map(\.0)).count == sent.count)
    let pushed = form(FormBody.pushedAuthorization(sent))
    #expect(pushed.contains("&audience=a%26b%3Dc%20%C3%BC") || pushed.contains("&audience=a%26b%3Dc+%C3%BC"))
  }

  /// Atlassian needs `prompt=consent`. A caller may ask for another one.
  @Test func presetWithAPrompt_sendsItWhereTheCallerNamesNone() {
    var configuration = configuration
    let request = AuthorizationRequest(redirectURI: "http://127.0.0.1/callback", entropy: SeededEntropy(seed: 1))
    func prompts(_ prompt: String?) -> [String] {
      request.parameters(of: configuration, scopes: ["openid"], prompt: prompt, loginHint: nil)
        .filter { $0.0 == "prompt" }.map(\.1)
    }
    #expect(prompts(nil) == [])
    configuration.preset = "atlassian"
    #expect(prompts(nil) == ["consent"])
    #expect(prompts("login") == ["login"])
    #expect(!form(FormBody.deviceAuthorization(scopes: [], at: configuration)).contains("prompt"))
  }

  @Test func deviceRequest_hasTheParametersThatAreNotOfTheBrowser() {
    var configuration = configuration
    #expect(form(FormBody.deviceAuthorization(scopes: [], at: configuration)).contains("access_type=offline"))
    configuration.preset = "google"
    let google = form(FormBody.deviceAuthorization(scopes: [], at: configuration))
    #expect(google.contains("audience=") && !google.contains("access_type"))
  }

  /// Entra refuses each request with `resource`: AADSTS901002.
  @Test func presetThatRefusesResources_sendsNone() {
    var configuration = configuration
    #expect(form(FormBody.deviceAuthorization(scopes: [], at: configuration)).contains("resource="))
    configuration.preset = "entra"
    #expect(!form(FormBody.deviceAuthorization(scopes: [], at: configuration)).contains("resource"))
    let request = AuthorizationRequest(redirectURI: "http://localhost/callback", entropy: SeededEntropy(seed: 1))
    let sent = request.parameters(of: configuration, scopes: ["openid"], prompt: nil, loginHint: nil)
    #expect(!sent.contains { $0.0 == "resource" })
  }

  @Test func record_keepsTheParameters() throws {
    let provider = Provider(configuration: configuration)
    let read = try #require(Provider(provider.record))
    #expect(read.configuration == configuration)
  }

  @Test func recordOfAProviderWithoutParameters_hasNoSuchMember() throws {
    var configuration = configuration
    configuration.authorizationParameters = [:]
    let record = Provider(configuration: configuration).record
    #expect(!record.withBytes { String(decoding: $0, as: UTF8.self).contains("authorizationParameters") })
    #expect(try #require(Provider(record)).configuration == configuration)
  }
}
