import AgentModel
import AgentPorts
import Secrets
import Testing
import TokenSignatures

import AgentOAuth
import AgentCore

/// Configured client keys, and the assertions that they sign (RFC 7523).
@Suite struct ClientAssertionTests {
  let signer = OpenSSLClientKeySigner()

  @Test(
    arguments: [
      (ClientKeyFixtures.rsa, SignatureAlgorithm.ps256, "r1"), (ClientKeyFixtures.p256, .es256, "e1"),
      (ClientKeyFixtures.ed25519, .edDSA, nil),
    ] as [(String, SignatureAlgorithm, String?)]) func configuredJWK_signsAClientAssertion(
      text: String, algorithm: SignatureAlgorithm, keyID: String?
    ) throws
  {
    let key = try #require(ClientKey(Secret(text: text)))
    let assertion = ClientAssertion(
      clientID: "me", audience: "https://idp.test", id: "once", now: Timestamp(milliseconds: 1_900_000_000_999))
    let token = try #require(assertion.signed(by: key, with: signer))
    let parsed = try token.withBytes { (bytes) throws(IDTokenFailure) in try CompactJWT(parsing: bytes) }
    #expect(parsed.algorithm == algorithm)
    #expect(parsed.keyID == keyID)
    #expect(
      String(decoding: parsed.payload, as: UTF8.self)
        == #"{"iss":"me","sub":"me","aud":"https://idp.test","jti":"once","iat":1900000000,"exp":1900000060}"#)
    let keys = try #require(publicHalf(text))
    #expect(
      keys.contains {
        OpenSSLSignatureVerifier().isValid(parsed.signature, over: parsed.signedBytes, by: $0, algorithm: algorithm)
      })
  }

  @Test func assertionOfAMachine_namesItsSubjectAudienceAndScopes() throws {
    let whole = MachineGrant.Assertion(subject: "pat", audience: "https://idp.test", lifetimeSeconds: 120)
    #expect(
      try claims(of: assertion(by: whole, scopes: ["write", "read"]))
        == #"{"iss":"me","sub":"pat","aud":"https://idp.test","scope":"read write","jti":"once","iat":1900000000,"exp":1900000120}"#
    )
    #expect(
      try claims(of: assertion(by: .init(), scopes: []))
        == #"{"iss":"me","sub":"me","aud":"https://idp.test/token","jti":"once","iat":1900000000,"exp":1900000300}"#)
  }

  private func assertion(by grant: MachineGrant.Assertion, scopes: [String]) -> ClientAssertion {
    ClientAssertion(
      grant, ofClient: "me", at: "https://idp.test/token", scopes: ScopeSet(scopes), id: "once",
      now: Timestamp(milliseconds: 1_900_000_000_999))
  }

  private func claims(of assertion: ClientAssertion) throws -> String {
    let key = try #require(ClientKey(Secret(text: ClientKeyFixtures.ed25519)))
    let token = try #require(assertion.signed(by: key, with: signer))
    let parsed = try token.withBytes { (bytes) throws(IDTokenFailure) in try CompactJWT(parsing: bytes) }
    return String(decoding: parsed.payload, as: UTF8.self)
  }

  /// Parsed by the agent's own key set reader, which ignores private members.
  private func publicHalf(_ text: String) -> [PublicKey]? {
    let bytes = Array(#"{"keys":[\#(text)]}"#.utf8)
    return try? bytes.withUnsafeBytes { (bytes) throws(IDTokenFailure) in try JWKSet(parsing: bytes) }.keys
      .map(\.publicKey)
  }

  @Test(arguments: [
    "{}", "{", #"{"kty":"oct","k":"AAAA"}"#, #"{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA","d":"AA"}"#,
    ClientKeyFixtures.p256.replacing(#""kid""#, with: #""alg":"HS256","kid""#),
    ClientKeyFixtures.p256.replacing(#""kid""#, with: #""use":"enc","kid""#),
    ClientKeyFixtures.p256.replacing(#""d":"#, with: #""D":"#),
    ClientKeyFixtures.p256.replacing(#""kid""#, with: #""d":"AAAA","kid""#),
    ClientKeyFixtures.rsa.replacing(#""qi":"#, with: #""qx":"#),
    ClientKeyFixtures.ed25519.replacing(#""d":""#, with: #""d":"*"#),
  ]) func textThatIsNoPrivateKey_isRefused(text: String) { #expect(ClientKey(Secret(text: text)) == nil) }

  /// Halves of two keys would sign what no verifier accepts.
  @Test func mismatchedKeyHalves_signNothing() throws {
    let other = ClientKeyFixtures.p256.replacing(try Regex(#""d":"..."#), with: #""d":"AAA"#)
    let key = try #require(ClientKey(Secret(text: other)))
    #expect(signer.algorithm(of: key.material) == nil)
    #expect(signer.sign(Secret(text: "x"), by: key.material, algorithm: .es256) == nil)
  }
}

/// The chosen authentication method, and the audience of an assertion.
@Suite struct AuthenticationMethodTests {
  private func provider(
    secret: Bool = false, key: Bool = false, told: [String] = [], chosen: ClientAuthMethod? = nil,
    preset: String? = nil
  ) -> Provider {
    var configuration = ProviderConfiguration(name: ProviderName("idp")!, issuer: "https://idp.test", clientID: "me")
    configuration.tokenEndpointAuthMethod = chosen
    configuration.preset = preset
    var metadata = ServerMetadata(issuer: "https://idp.test")
    metadata.tokenEndpointAuthMethods = told
    metadata.endpoints.token = "https://idp.test/token"
    return Provider(
      configuration: configuration, clientSecret: secret ? Secret(text: "s") : nil,
      clientKey: key ? Secret(text: "k") : nil, metadata: metadata)
  }

  @Test func authenticationMethod_isChosenFromMetadataAndCredentials() {
    #expect(provider().authenticationMethod == .publicClient)
    #expect(provider(told: ["client_secret_basic"]).authenticationMethod == .publicClient)
    #expect(provider(secret: true).authenticationMethod == .clientSecretBasic)
    #expect(provider(secret: true, told: ["client_secret_post"]).authenticationMethod == .clientSecretPost)
    #expect(
      provider(secret: true, told: ["client_secret_post", "client_secret_basic"]).authenticationMethod
        == .clientSecretBasic)
    #expect(provider(secret: true, told: ["tls_client_auth"]).authenticationMethod == .clientSecretBasic)
    #expect(provider(key: true).authenticationMethod == .privateKeyJWT)
    #expect(
      provider(secret: true, key: true, told: ["client_secret_post", "private_key_jwt"]).authenticationMethod
        == .privateKeyJWT)
    #expect(provider(secret: true, key: true, told: ["client_secret_post"]).authenticationMethod == .clientSecretPost)
    #expect(
      provider(secret: true, told: ["client_secret_basic"], chosen: .clientSecretPost).authenticationMethod
        == .clientSecretPost)
    #expect(provider(secret: true, chosen: .publicClient).authenticationMethod == .publicClient)
  }

  @Test func assertionAudience_isTheIssuerUnlessThePresetNeedsAnother() {
    let revocation = "https://idp.test/revoke"
    #expect(provider(key: true).assertionAudience(at: revocation) == "https://idp.test")
    #expect(provider(key: true, preset: "entra").assertionAudience(at: revocation) == "https://idp.test/token")
    #expect(provider(key: true, preset: "okta").assertionAudience(at: revocation) == revocation)
    var undiscovered = provider(key: true)
    undiscovered.forgetMetadata()
    undiscovered.configuration.endpoints.token = "https://idp.test/t"
    #expect(undiscovered.assertionAudience(at: revocation) == "https://idp.test/t")
  }
}
