import AgentCore
import AgentModel
import AgentSimulation
import Secrets
import Testing

import AgentOAuth

/// Providers that are held to MCP (docs/providers.md, Plain OAuth servers).
@Suite struct ExactProviderTests {
  private func provider(
    issuer: String = "https://idp.test", change: (inout ProviderConfiguration) -> Void = { _ in },
    metadata: ServerMetadata? = nil
  ) -> Provider {
    var configuration = ProviderConfiguration(name: ProviderName("idp")!, issuer: issuer, clientID: "app")
    configuration.identity = .resource
    configuration.resources = ["https://tools.test/mcp"]
    configuration.scopes = ["mail"]
    change(&configuration)
    return Provider(configuration: configuration, metadata: metadata)
  }

  @Test(
    arguments: [
      (
        "https://auth.example.com/tenant1",
        [
          "https://auth.example.com/.well-known/oauth-authorization-server/tenant1",
          "https://auth.example.com/.well-known/openid-configuration/tenant1",
          "https://auth.example.com/tenant1/.well-known/openid-configuration",
        ]
      ),
      (
        "https://auth.example.com:8443/a/b/",
        [
          "https://auth.example.com:8443/.well-known/oauth-authorization-server/a/b",
          "https://auth.example.com:8443/.well-known/openid-configuration/a/b",
          "https://auth.example.com:8443/a/b/.well-known/openid-configuration",
        ]
      ),
      (
        "https://auth.example.com",
        [
          "https://auth.example.com/.well-known/oauth-authorization-server",
          "https://auth.example.com/.well-known/openid-configuration",
        ]
      ),
      (
        "https://auth.example.com/",
        [
          "https://auth.example.com/.well-known/oauth-authorization-server",
          "https://auth.example.com/.well-known/openid-configuration",
        ]
      ),
    ])
  func documents_areAskedForInTheOrderOfMCP(issuer: String, places: [String]) {
    #expect(ProviderDocuments.exactPlaces(of: issuer) == places)
  }

  @Test(
    arguments: [
      ("https://idp.test", true), ("https://idp.test/", false), ("https://IDP.test", false),
      ("https://idp.test:443", false), ("HTTPS://idp.test", false), ("https://idp%2Etest", false),
    ])
  func issuer_isComparedAsText(issuer: String, isItself: Bool) {
    #expect(provider().isItself(issuer) == isItself)
  }

  @Test func presetOfTenants_doesNotLoosenAnExactIssuer() {
    let shared = "https://login.microsoftonline.com/organizations/v2.0"
    let tenant = "https://login.microsoftonline.com/acme/v2.0"
    #expect(provider(issuer: shared) { ($0.preset, $0.identity) = ("entra", .person) }.isItself(tenant))
    #expect(!provider(issuer: shared) { $0.preset = "entra" }.isItself(tenant))
  }

  @Test func record_keepsWhatMakesAProviderExact() throws {
    var metadata = ServerMetadata(issuer: "https://idp.test")
    metadata.clientIDMetadataDocuments = true
    let known = provider(change: { $0.requiresPKCE = true }, metadata: metadata)
    let stored = try #require(Provider(known.record))
    #expect(stored.configuration == known.configuration)
    #expect(stored.metadata == metadata)
    #expect(stored.lacksRequiredPKCE)
  }

  @Test func methodsThatTheMetadataDoesNotList_areNotOffered() {
    var metadata = ServerMetadata(issuer: "https://idp.test")
    #expect(!provider(metadata: metadata).lacksRequiredPKCE)
    #expect(provider(change: { $0.requiresPKCE = true }).lacksRequiredPKCE)
    metadata.codeChallengeMethods = ["plain"]
    #expect(provider(change: { $0.requiresPKCE = true }, metadata: metadata).lacksRequiredPKCE)
    metadata.codeChallengeMethods = ["plain", "S256"]
    #expect(!provider(change: { $0.requiresPKCE = true }, metadata: metadata).lacksRequiredPKCE)
  }

  @Test func clientOfAResource_isRegisteredForTheScopesThatTheServerAnnounces() {
    var metadata = ServerMetadata(issuer: "https://idp.test")
    #expect(provider(metadata: metadata).scopesToRegister == [["mail"]])
    metadata.scopesSupported = ["mail"]
    #expect(provider(metadata: metadata).scopesToRegister == [["mail"]])
    metadata.scopesSupported = ["files", "mail"]
    #expect(provider(metadata: metadata).scopesToRegister == [["files", "mail"], ["mail"]])
    #expect(provider(change: { $0.identity = .person }, metadata: metadata).scopesToRegister == [["mail"]])
  }

  @Test func standardToken_isForTheOnlyResource() {
    #expect(provider().refreshRule.standardResource == "https://tools.test/mcp")
    #expect(provider(change: { $0.resources = [] }).refreshRule.standardResource == nil)
    #expect(provider(change: { $0.resources.append("https://b.test") }).refreshRule.standardResource == nil)
    #expect(provider(change: { $0.preset = "entra" }).refreshRule.standardResource == nil)
  }

  /// The rows of the table in MCP's authorization response validation, and refusals.
  @Test(
    arguments: [
      (true, "code=c&iss=https%3A%2F%2Fidp.test", "code"), (true, "code=c", "issuerMismatch"),
      (false, "code=c&iss=https%3A%2F%2Fidp.test", "code"), (false, "code=c", "code"),
      (true, "code=c&iss=https%3A%2F%2Fidp.test%2F", "issuerMismatch"),
      (false, "code=c&iss=https%3A%2F%2Fother.test", "issuerMismatch"), (false, "code=c&iss=", "issuerMismatch"),
      (true, "error=access_denied&iss=https%3A%2F%2Fidp.test", "denied"),
      (true, "error=access_denied", "issuerMismatch"), (false, "error=access_denied", "denied"),
      (false, "error=access_denied&iss=https%3A%2F%2Fother.test", "issuerMismatch"),
      (true, "code=c&iss=https%3A%2F%2Fidp.test&iss=https%3A%2F%2Fother.test", "foreign"),
    ])
  func answer_isJudgedByItsIssuer(isAnnounced: Bool, query: String, expected: String) {
    var metadata = ServerMetadata(issuer: "https://idp.test")
    metadata.authorizationResponseIssuer = isAnnounced
    let request = AuthorizationRequest(redirectURI: "http://127.0.0.1/callback", entropy: SeededEntropy(seed: 1))
    let answer = AuthorizationAnswer(
      query: Secret(text: "state=\(request.state)&\(query)"), to: request, of: provider(metadata: metadata))
    let found =
      switch answer {
      case .code: "code"
      case .refused(.issuerMismatch): "issuerMismatch"
      case .refused(.denied): "denied"
      case .refused: "refused"
      case .foreign: "foreign"
      }
    #expect(found == expected)
  }

  @Test func subjectThatTheAgentMade_isNoProvidersSubject() {
    let made = Identity(unproven: [1, 2, 3], issuer: "https://idp.test")
    #expect(made.isUnproven && Identity.isUnproven(made.subject))
    #expect(!Identity(issuer: "https://idp.test", tenant: nil, subject: "alice").isUnproven)
  }
}
