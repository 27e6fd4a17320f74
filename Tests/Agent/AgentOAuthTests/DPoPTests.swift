import AgentCore
import AgentModel
import AgentPorts
import JSONRPC
import SecretJSON
import Secrets
import Testing
import TokenSignatures

import AgentOAuth

/// Keys and proofs of possession (RFC 9449).
@Suite struct DPoPTests {
  let signer = OpenSSLClientKeySigner()

  @Test("The thumbprint is that of RFC 7638 §3.1, and of the key in RFC 9449 §4.1")
  func thumbprint() {
    let rsa = JWKThumbprint.of([
      ("e", "AQAB"), ("kty", "RSA"),
      (
        "n",
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"
      ),
    ])
    #expect(rsa == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
    let curve = JWKThumbprint.of([
      ("crv", "P-256"), ("kty", "EC"), ("x", "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs"),
      ("y", "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"),
    ])
    #expect(curve == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
  }

  /// The agent reads no proofs: its reader of ID tokens refuses their type.
  private func parsed(
    _ proof: Secret
  ) throws -> (header: String, claims: String, signature: [UInt8], signed: [UInt8]) {
    let parts = proof.withBytes { String(decoding: $0, as: UTF8.self) }.split(separator: ".").map(String.init)
    try #require(parts.count == 3)
    let header = String(decoding: try #require(Base64URL.decode(parts[0])), as: UTF8.self)
    let claims = String(decoding: try #require(Base64URL.decode(parts[1])), as: UTF8.self)
    return (header, claims, try #require(Base64URL.decode(parts[2])), Array((parts[0] + "." + parts[1]).utf8))
  }

  @Test func proof_namesMethodURLTimeTokenAndNonce_andIsSignedByTheKey() throws {
    let key = try #require(DeviceKey(by: signer))
    let url = try #require(HTTPURL("https://API.example:443/a/./b%2fc?x=1"))
    // The token and the digest of RFC 9449 §7.1.
    let proof = DPoPProof(
      method: "POST", url: url, id: "once", now: Timestamp(milliseconds: 1_900_000_000_999),
      accessToken: Secret(text: "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"), nonce: "n-1")
    let (header, claims, signature, signed) = try parsed(try #require(proof.signed(by: key, with: signer)))
    #expect(
      claims
        == #"{"jti":"once","htm":"POST","htu":"https://api.example/a/b%2fc","iat":1900000000,"ath":"fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo","nonce":"n-1"}"#
    )
    #expect(header.hasPrefix(#"{"typ":"dpop+jwt","alg":"ES256","jwk":{"kty":"EC","crv":"P-256","x":""#))
    #expect(!header.contains(#""d""#))
    let members = try #require(header.firstRange(of: #""jwk":"#)).upperBound
    let jwk = Array(#"{"keys":[\#(header[members...].dropLast())]}"#.utf8)
    let keys = try jwk.withUnsafeBytes { (bytes) throws(IDTokenFailure) in try JWKSet(parsing: bytes) }
    let publicKey = try #require(keys.keys.first?.publicKey)
    #expect(OpenSSLSignatureVerifier().isValid(signature, over: signed, by: publicKey, algorithm: .es256))
  }

  @Test func proofForTheTokenEndpoint_namesNoTokenAndNoNonce() throws {
    let key = try #require(DeviceKey(by: signer))
    let url = try #require(HTTPURL("http://127.0.0.1:8080/token"))
    let proof = DPoPProof(method: "POST", url: url, id: "once", now: Timestamp(milliseconds: 5000))
    let claims = try parsed(try #require(proof.signed(by: key, with: signer))).claims
    #expect(claims == #"{"jti":"once","htm":"POST","htu":"http://127.0.0.1:8080/token","iat":5}"#)
  }

  @Test func storedKey_isTheSameKey_andADamagedRecordIsNone() throws {
    let key = try #require(DeviceKey(by: signer))
    let record = SecretJSON.write { key.write(to: &$0, as: "key") }
    let read = SecretJSON.read(record) { $0["key"].flatMap { DeviceKey($0) } }
    #expect(read?.thumbprint == key.thumbprint)
    let url = try #require(HTTPURL("https://api.example/"))
    let proof = DPoPProof(method: "GET", url: url, id: "once", now: Timestamp(milliseconds: 0))
    #expect(try proof.signed(by: #require(read), with: signer) != nil)
    for name in ["x", "y", "d"] {
      let text = record.withBytes { String(decoding: $0, as: UTF8.self) }
      let damaged = Secret(text: text.replacing(try Regex("\"\(name)\":\"...."), with: "\"\(name)\":\""))
      #expect(SecretJSON.read(damaged) { $0["key"].flatMap { DeviceKey($0) } } == nil)
    }
  }

  @Test func eachSignIn_hasAKeyOfItsOwn() throws {
    let keys = (0..<20).compactMap { _ in DeviceKey(by: signer)?.thumbprint }
    #expect(Set(keys).count == 20)
    #expect(DeviceKey(by: NoClientKeys()) == nil)
  }

  @Test func nonce_isRememberedPerUseOriginAndKey() throws {
    let (one, other) = (try #require(DeviceKey(by: signer)), try #require(DeviceKey(by: signer)))
    let nonces = DPoPNonces()
    let url = try #require(HTTPURL("https://api.example/a"))
    nonces.remember("n1", for: .resources, at: url, by: one)
    #expect(nonces.nonce(for: .resources, at: try #require(HTTPURL("https://api.example/b?c")), by: one) == "n1")
    #expect(nonces.nonce(for: .tokens, at: url, by: one) == nil)
    #expect(nonces.nonce(for: .resources, at: url, by: other) == nil)
    #expect(nonces.nonce(for: .resources, at: try #require(HTTPURL("https://api.example:444/a")), by: one) == nil)
    nonces.remember("n2", for: .resources, at: url, by: one)
    #expect(nonces.nonce(for: .resources, at: url, by: one) == "n2")
  }

  @Test(
    arguments: [
      ("abc", true), ("", false), ("a b", false), ("a\"b", false), ("a\\b", false), ("ä", false),
      (String(repeating: "n", count: 1024), true), (String(repeating: "n", count: 1025), false),
    ])
  func nonceOfAResponse_isTakenIfRFC9449AllowsIt(text: String, isTaken: Bool) {
    let response = HTTPResponse(
      status: 200, fields: [("dpop-nonce", text)], body: Secret(text: ""), sentAt: BootInstant(milliseconds: 0),
      receivedAt: BootInstant(milliseconds: 0))
    #expect(DPoPNonces.told(by: response) == (isTaken ? text : nil))
  }

  // MARK: providers

  private func provider(_ use: ProviderConfiguration.DPoPUse, told: [String] = []) -> Provider {
    var configuration = ProviderConfiguration(name: ProviderName("idp")!, issuer: "https://idp.test", clientID: "me")
    configuration.dpop = use
    var metadata = ServerMetadata(issuer: "https://idp.test")
    metadata.dpopAlgorithms = told
    metadata.endpoints.token = "https://idp.test/token"
    metadata.endpoints.userinfo = "https://idp.test/userinfo"
    return Provider(configuration: configuration, metadata: metadata)
  }

  @Test func signIn_bindsItsTokensWhereTheProviderOffersES256() {
    #expect(!provider(.auto).bindsTokens)
    #expect(!provider(.auto, told: ["RS256", "EdDSA"]).bindsTokens)
    #expect(provider(.auto, told: ["RS256", "ES256"]).bindsTokens)
    #expect(provider(.required).bindsTokens)
    #expect(!provider(.off, told: ["ES256"]).bindsTokens)
    #expect(Provider(provider(.required, told: ["ES256"]).record)?.configuration.dpop == .required)
    #expect(Provider(provider(.auto, told: ["ES256"]).record)?.bindsTokens == true)
  }

  /// The ports of a `ProviderClient` that sends nothing.
  private struct Ports: AgentClock, Entropy, HTTPExchange, ProviderClock {
    let bootID = "boot"
    func wall() -> Timestamp { Timestamp(milliseconds: 1_900_000_000_000) }
    func boot() -> BootInstant { BootInstant(milliseconds: 0) }
    func sleep(until deadline: BootInstant) async {}
    func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }
    func send(_ request: HTTPRequest) async -> HTTPOutcome { .notConnected(.other) }
    func serverKey(for request: HTTPRequest) async -> ServerKey { .failed(.notConnected(.other)) }
    func closeConnections(of user: String?) {}
    func calendarTime(of provider: ProviderName) -> Timestamp { wall() }
    func answered(by provider: ProviderName, date: String?, sentAt: BootInstant, receivedAt: BootInstant) {}
  }

  /// A request with a proof is not repeated on another connection as it is: `RequestSender` asks `hasProof`.
  @Test func authorizationOfAResourceRequest_hasAProofForABoundTokenOnly() throws {
    let ports = Ports()
    let client = ProviderClient(
      provider: provider(.auto),
      dependencies: .init(
        http: ports, clock: ports, entropy: ports, keys: signer, signatures: OpenSSLSignatureVerifier(), time: ports))
    let url = try #require(HTTPURL("https://api.example/a"))
    let token = Secret(text: "not-a-real-token")
    let bearer = try #require(client.proofs.authorization(by: AccessCredential(token, boundTo: nil), for: "GET", url))
    #expect(!bearer.hasProof)
    #expect(Self.fields(of: bearer) == ["Authorization"])
    let key = try #require(DeviceKey(by: signer))
    let bound = try #require(
      client.proofs.authorization(by: AccessCredential(token, boundTo: key), for: "GET", url, nonce: "n-1"))
    #expect(bound.hasProof)
    #expect(bound.nonce == "n-1")
    #expect(Self.fields(of: bound) == ["Authorization", "DPoP"])
  }

  /// The names of the fields by which a request is authorized.
  private static func fields(of authorization: RequestAuthorization) -> [String] {
    var request = HTTPRequest(method: "GET", url: "https://api.example/a")
    authorization.authorize(&request)
    return request.fields.map(\.name)
  }

  @Test func ownEndpoints_areThoseOfTheAgentAlone() throws {
    let provider = provider(.auto)
    #expect(provider.isOwnEndpoint(try #require(HTTPURL("https://IDP.test:443/token?x"))))
    #expect(!provider.isOwnEndpoint(try #require(HTTPURL("https://idp.test/userinfo"))))
    #expect(!provider.isOwnEndpoint(try #require(HTTPURL("https://idp.test/tokens"))))
  }

  @Test(arguments: [
    "/%74oken", "/%74%6Fken", "//token", "/token/", "/token//", "/token;x", "/;a/token;b=c?d", "/%2Ftoken", "/token%2f",
    "/token%3Bx", "/x/%2e%2e;y/token", "/x/..;y/token", "/.;x/token",
  ])
  func ownEndpointInAnotherSpelling_isTheSame(path: String) throws {
    #expect(provider(.auto).isOwnEndpoint(try #require(HTTPURL("https://idp.test" + path))))
  }

  @Test(arguments: ["/", "/Token", "/token/x", "/x/token", "/tok;en", "/%2574oken", "/token.json", "/token%3Fx"])
  func otherPath_isNoOwnEndpoint(path: String) throws {
    #expect(!provider(.auto).isOwnEndpoint(try #require(HTTPURL("https://idp.test" + path))))
  }
}
