import AgentModel
import AgentOAuth
import Secrets
import Testing

/// What was issued at one provider, client and token endpoint may be sent to no other.
struct IssuingClientTests {
  private static func provider(
    issuer: String = "https://idp.test", client: String = "lanyard", configured: String? = nil,
    discovered: String? = "https://idp.test/token", secret: String? = nil
  ) -> Provider {
    var configuration = ProviderConfiguration(name: ProviderName("idp")!, issuer: issuer, clientID: client)
    configuration.endpoints.token = configured
    var metadata: ServerMetadata?
    if let discovered {
      metadata = ServerMetadata(issuer: issuer)
      metadata?.endpoints.token = discovered
    }
    return Provider(configuration: configuration, clientSecret: secret.map { Secret(text: $0) }, metadata: metadata)
  }

  private static let issued = provider().issuingClient

  @Test func sameProvider_mayReceive() {
    #expect(Self.provider().mayReceive(Self.issued))
    #expect(Self.provider(configured: "https://idp.test/token").mayReceive(Self.issued))
  }

  @Test(arguments: [
    provider(issuer: "https://other.test"), provider(client: "other"),
    provider(configured: "https://evil.test/token"), provider(configured: "https://idp.test/other"),
    provider(configured: "https://idp.test:444/token"), provider(discovered: "https://evil.test/token"),
    provider(discovered: "https://idp.test.evil.test/token"),
  ])
  func changedProvider_mayNotReceive(provider: Provider) { #expect(!provider.mayReceive(Self.issued)) }

  @Test func discoveredEndpoint_mayMoveWithinItsOrigin() {
    #expect(Self.provider(discovered: "https://idp.test/v2/token").mayReceive(Self.issued))
  }

  @Test func credentials_areWithheldFromAnotherEndpoint_andComeBack() {
    let before = Self.provider(secret: "s3cret")
    var after = before
    after.configuration.endpoints.token = "https://evil.test/token"
    after.keepCredentials(of: before)
    #expect(after.clientSecret == nil)
    let read = Provider(after.record)
    #expect(read?.clientSecret == nil)
    var restored = after
    restored.configuration.endpoints.token = nil
    restored.keepCredentials(of: after)
    #expect(restored.clientSecret?.equals(Secret(text: "s3cret")) == true)
    // A secret that is given for the new endpoint is used there, and the old one is gone.
    after.authenticate(by: Secret(text: "new"), key: nil)
    #expect(after.clientSecret?.equals(Secret(text: "new")) == true)
  }

  @Test func newKey_doesNotReleaseTheOldSecret() {
    let before = Self.provider(secret: "s3cret")
    var after = before
    after.configuration.clientID = "other"
    after.authenticate(by: nil, key: Secret(text: "key"), after: before)
    #expect(after.clientSecret == nil)
    #expect(after.clientKey != nil)
    after.configuration.clientID = "lanyard"
    #expect(after.clientSecret == nil)
  }

  @Test func newKeyOfTheSameClient_keepsTheSecret() {
    let before = Self.provider(secret: "s3cret")
    var after = before
    after.authenticate(by: nil, key: Secret(text: "key"), after: before)
    #expect(after.clientSecret != nil && after.clientKey != nil)
  }

  @Test func credentials_goToNoEndpointAtAnotherOriginThatWasConfiguredLater() {
    let before = Self.provider(secret: "s3cret")
    var after = before
    after.configuration.endpoints.pushedAuthorizationRequest = "https://evil.test/par"
    after.configuration.endpoints.revocation = "https://idp.test/other"
    after.keepCredentials(of: before)
    let read = Provider(after.record)
    #expect(read?.clientSecret != nil)
    #expect(read?.mayAuthenticate(at: "https://evil.test/par") == false)
    #expect(read?.mayAuthenticate(at: "https://idp.test/token") == true)
    #expect(read?.mayAuthenticate(at: "https://idp.test/other") == true)
    after.authenticate(by: nil, key: Secret(text: "key"), after: before)
    #expect(after.clientSecret == nil)
    #expect(after.mayAuthenticate(at: "https://evil.test/par"))
  }

  @Test func twoSteps_overAnUnknownEndpoint_releaseNoSecret() {
    let first = Self.provider(secret: "s3cret")
    var second = first
    second.forgetMetadata()
    second.keepCredentials(of: first)
    var third = second
    var metadata = ServerMetadata(issuer: "https://idp.test")
    metadata.endpoints.token = "https://evil.test/token"
    third.learn(metadata, at: Timestamp(milliseconds: 0))
    third.keepCredentials(of: second)
    #expect(third.clientSecret == nil)
  }

  @Test(
    arguments: [
      \ServerMetadata.Endpoints.authorization, \.jwks, \.userinfo, \.revocation, \.introspection,
      \.deviceAuthorization, \.endSession, \.registration, \.pushedAuthorizationRequest,
    ] as [any WritableKeyPath<ServerMetadata.Endpoints, String?> & Sendable])
  func otherEndpoint_directsElsewhere(place: any WritableKeyPath<ServerMetadata.Endpoints, String?> & Sendable) {
    let before = Self.provider()
    var after = before
    #expect(!after.directsElsewhere(than: before))
    after.configuration.endpoints[keyPath: place] = "https://evil.test/x"
    #expect(after.directsElsewhere(than: before))
  }

  @Test func revocation_goesToNoOriginThatTheTokenWasNotIssuedAt() {
    func revoking(at endpoint: String) -> Provider {
      var provider = Self.provider()
      provider.configuration.endpoints.revocation = endpoint
      return provider
    }
    let kept = revoking(at: "https://revoke.test/old").forRevocation
    #expect(revoking(at: "https://revoke.test/new").mayRevoke(for: kept))
    #expect(revoking(at: "https://idp.test/revoke").mayRevoke(for: kept))
    #expect(!revoking(at: "https://evil.test/revoke").mayRevoke(for: kept))
    #expect(!Self.provider().mayRevoke(for: kept))
    #expect(!revoking(at: "https://idp.test/revoke").mayRevoke(for: kept.withoutEndpoints))
  }

  @Test func providerKeptForARevocation_hasNoFormerOnes() {
    var provider = Self.provider(client: "new")
    provider.remember(Self.provider(secret: "s3cret"), for: [Self.issued])
    #expect(provider.former.count == 1)
    #expect(provider.forRevocation.former.isEmpty)
  }

  @Test func replacedProvider_isRememberedWhileAnAccountNeedsIt() {
    let before = Self.provider(secret: "s3cret")
    var after = before
    after.configuration.issuer = "https://other.test"
    after.forgetMetadata()
    after.keepCredentials(of: before)
    after.remember(before, for: [before.issuingClient])
    #expect(after.former.count == 1)
    let issuer = Provider(after.record)?.issuer(of: before.issuingClient)
    #expect(issuer?.configuration.issuer == "https://idp.test")
    #expect(issuer?.endpoints.token == "https://idp.test/token")
    #expect(issuer?.clientSecret?.equals(Secret(text: "s3cret")) == true)
    #expect(after.issuer(of: IssuingClient(issuer: "https://x.test", clientID: "lanyard", tokenEndpoint: nil)) == nil)
    var third = after
    third.configuration.clientID = "third"
    third.remember(after, for: [])
    #expect(third.former.isEmpty)
  }
}
