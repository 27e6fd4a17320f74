import AgentCore
import AgentModel
import AgentPorts
import AgentSimulation
import Secrets
import Synchronization
import Testing
import TokenSignatures

import AgentOAuth

/// The one reader of a provider's documents (docs/providers.md, Documents).
@Suite struct DocumentTests {
  /// A server that answers each path with the next of its responses.
  final class Server: AgentClock, Entropy, HTTPExchange, ProviderClock {
    struct Answer {
      var status = 200
      var location: String?
      var body = #"{"issuer":"https://idp.test","token_endpoint":"https://idp.test/token"}"#
      var bytes: [UInt8]?
      var type = "application/json"
    }

    let answers: [String: Answer]
    let asked = Mutex<[String]>([])
    let sentBodies = Mutex<[String]>([])
    let bootID = "boot"

    init(_ answers: [String: Answer]) { self.answers = answers }

    func wall() -> Timestamp { Timestamp(milliseconds: 1_900_000_000_000) }
    func boot() -> BootInstant { BootInstant(milliseconds: 0) }
    func sleep(until deadline: BootInstant) async {}
    func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }
    func serverKey(for request: HTTPRequest) async -> ServerKey { .failed(.notConnected(.other)) }
    func calendarTime(of provider: ProviderName) -> Timestamp { wall() }
    func answered(by provider: ProviderName, date: String?, sentAt: BootInstant, receivedAt: BootInstant) {}

    func send(_ request: HTTPRequest) async -> HTTPOutcome {
      asked.withLock { $0.append("\(request.method) \(request.url)") }
      if let body = request.body?.withBytes({ String(decoding: $0, as: UTF8.self) }) {
        sentBodies.withLock { $0.append(body) }
      }
      guard let answer = answers[request.url] else { return .notConnected(.nameNotFound) }
      var fields = [(name: "Content-Type", value: answer.type)]
      if let location = answer.location { fields.append((name: "Location", value: location)) }
      let body = (answer.bytes ?? Array(answer.body.utf8)).withUnsafeBytes { Secret(copying: $0) }
      return .response(
        HTTPResponse(status: answer.status, fields: fields, body: body, sentAt: boot(), receivedAt: boot()))
    }

    func client(_ change: (inout Provider) -> Void = { _ in }) -> ProviderClient {
      let configuration = ProviderConfiguration(
        name: ProviderName("idp")!, issuer: "https://idp.test", clientID: "app")
      var provider = Provider(configuration: configuration)
      change(&provider)
      return ProviderClient(
        provider: provider,
        dependencies: .init(
          http: self, clock: self, entropy: self, keys: OpenSSLClientKeySigner(),
          signatures: OpenSSLSignatureVerifier(), time: self))
    }

    var requests: [String] { asked.withLock { $0 } }
    var bodies: [String] { sentBodies.withLock { $0 } }
  }

  private static let document = "https://idp.test/.well-known/openid-configuration"
  private static let second = "https://idp.test/.well-known/oauth-authorization-server"

  private func issuer(_ answers: [String: Server.Answer]) async -> Result<String, DocumentFailure> {
    do throws(DocumentFailure) {
      return .success(try await Server(answers).client().documents.issuer(in: Self.document))
    } catch {
      return .failure(error)
    }
  }

  @Test(arguments: [301, 302, 303, 307, 308], ["https://idp.test/moved", "/moved", "//idp.test/moved", "../moved#x"])
  func redirectWithinTheOrigin_isFollowed(status: Int, location: String) async throws {
    let found = await issuer([
      Self.document: .init(status: status, location: location, body: ""), "https://idp.test/moved": .init(),
    ])
    #expect(try found.get() == "https://idp.test")
  }

  @Test(arguments: [
    ("https://other.test/metadata", "https://other.test"), ("http://idp.test/metadata", "http://idp.test"),
    ("https://idp.test:8443/metadata", "https://idp.test:8443"), ("//127.0.0.1/metadata", "https://127.0.0.1"),
  ])
  func redirectToAnotherOrigin_isNamedAndNotFollowed(location: String, origin: String) async {
    let server = Server([Self.document: .init(status: 302, location: location, body: "")])
    await #expect {
      _ = try await server.client().documents.issuer(in: Self.document)
    } throws: { error in
      if case DocumentFailure.redirected(to: origin) = error { true } else { false }
    }
    #expect(server.requests == ["GET \(Self.document)"])
  }

  @Test(arguments: [nil, "", "mailto:a@b.test", Self.document])
  func redirectToNowhere_ends(location: String?) async {
    let server = Server([Self.document: .init(status: 302, location: location, body: "")])
    await #expect {
      _ = try await server.client().documents.issuer(in: Self.document)
    } throws: { error in
      if case DocumentFailure.redirected(to: nil) = error { true } else { false }
    }
    #expect(server.requests.count <= 4)
  }

  @Test func threeRedirects_areTheMost() async throws {
    func chain(_ length: Int) -> [String: Server.Answer] {
      var answers = [Self.document: Server.Answer(status: 307, location: "/1", body: "")]
      for number in 1..<length {
        answers["https://idp.test/\(number)"] = .init(status: 307, location: "/\(number + 1)", body: "")
      }
      answers["https://idp.test/\(length)"] = .init()
      return answers
    }
    #expect(try await issuer(chain(3)).get() == "https://idp.test")
    let fourth = await issuer(chain(4))
    #expect(throws: DocumentFailure.self) { _ = try fourth.get() }
  }

  @Test(arguments: ["text/plain", "text/html; charset=utf-8", "application/octet-stream", "application/jwt", ""])
  func json_isReadUnderAnyMediaType(type: String) async throws {
    #expect(try await issuer([Self.document: .init(type: type)]).get() == "https://idp.test")
  }

  @Test func byteOrderMark_isPassedOver() async throws {
    let marked: [UInt8] = [0xEF, 0xBB, 0xBF] + Array(#"{"issuer":"https://idp.test"}"#.utf8)
    #expect(try await issuer([Self.document: .init(bytes: marked)]).get() == "https://idp.test")
    let client = Server([
      "https://idp.test/jwks": .init(bytes: [0xEF, 0xBB, 0xBF] + Array(#"{"keys":[]}"#.utf8))
    ]).client { $0.configuration.endpoints.jwks = "https://idp.test/jwks" }
    #expect(try await client.documents.readKeys(into: nil)?.set.keys.isEmpty == true)
  }

  /// UTF-16, a name in Latin-1, half a surrogate pair, an end of a line in a text.
  @Test func documentInAnotherEncoding_isRead() async throws {
    let units = #"{"issuer":"https://idp.test"}"#.utf16
    let little: [UInt8] = units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    let big: [UInt8] = [0xFE, 0xFF] + units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    let begin: [UInt8] = Array(#"{"service":"Zugang f"#.utf8)
    let end: [UInt8] = Array(#"r alle","issuer":"https://idp.test"}"#.utf8)
    let latin: [UInt8] = begin + [0xFC] + end
    let half: [UInt8] = Array(#"{"service":"\ud83d","issuer":"https://idp.test"}"#.utf8)
    let lines: [UInt8] = Array("{\"service\":\"two\nlines\",\"issuer\":\"https://idp.test\"}\0".utf8)
    for bytes in [little, big, latin, half, lines] {
      #expect(try await issuer([Self.document: .init(bytes: bytes)]).get() == "https://idp.test", "\(bytes)")
    }
  }

  /// 203 is of a proxy that changed something on the way.
  @Test(arguments: [(200, true), (201, true), (203, true), (202, false), (204, false), (206, false)])
  func documentWithAnotherSuccess_isRead(status: Int, isRead: Bool) async {
    let found = await issuer([Self.document: .init(status: status)])
    #expect(((try? found.get()) == "https://idp.test") == isRead)
  }

  /// The issuer in it still has to be the one that was asked for (RFC 8414 §3.3).
  @Test func documentBehindARedirect_mustNameTheIssuer() async {
    let server = Server([
      Self.document: .init(status: 301, location: "/x", body: ""),
      "https://idp.test/x": .init(body: #"{"issuer":"https://idp.test/tenant"}"#),
      Self.second: .init(status: 404, body: ""),
    ])
    await #expect(throws: DocumentFailure.self) { _ = try await server.client().documents.discover() }
  }

  @Test func keySetBehindARedirect_isRead() async throws {
    let server = Server([
      "https://idp.test/jwks": .init(status: 308, location: "/keys/", body: ""),
      "https://idp.test/keys/": .init(body: #"{"keys":[]}"#),
    ])
    let client = server.client { $0.configuration.endpoints.jwks = "https://idp.test/jwks" }
    #expect(try await client.documents.readKeys(into: nil) != nil)
  }

  /// A POST goes on by 307 and 308 alone: the others would make a GET of it (RFC 9110 §15.4).
  @Test(arguments: [(307, true), (308, true), (301, false), (302, false), (303, false)])
  func registration_isSentOnWhereItStaysAPost(status: Int, isFollowed: Bool) async throws {
    let server = Server([
      "https://idp.test/register": .init(status: status, location: "/register/", body: ""),
      "https://idp.test/register/": .init(status: 201, body: #"{"client_id":"c"}"#),
    ])
    let answer = try? await server.client().registrar.register(at: "https://idp.test/register")
    #expect(answer?.clientID == (isFollowed ? "c" : nil))
    #expect(server.requests.allSatisfy { $0.hasPrefix("POST ") })
  }

  private static let token = "https://idp.test/token"

  /// What comes for the metadata, and what for a POST without a token.
  private func answers(_ document: Server.Answer?, _ token: Server.Answer?) async -> Bool {
    let server = Server([Self.document: document, Self.token: token].compactMapValues { $0 })
    return await server.client { $0.configuration.endpoints.token = Self.token }.documents.answers()
  }

  @Test func metadataThatNamesTheIssuer_isASignOfLife() async {
    #expect(await answers(.init(), nil))
    #expect(await answers(.init(status: 302, location: Self.document + "/", body: ""), nil) == false)
  }

  /// What a portal, a proxy or a gateway sends in place of the metadata, and a document of another provider.
  private static let others: [Server.Answer] = [
    .init(body: "<html>Sign in to the network</html>", type: "text/html"), .init(body: "", type: "text/html"),
    .init(status: 302, location: "https://portal.test/", body: ""), .init(status: 307, location: "/login", body: ""),
    .init(status: 403, body: "<html>blocked</html>", type: "text/html"), .init(status: 404, body: "<html>"),
    .init(status: 511, body: "<html>"), .init(status: 503, body: "{}"),
    .init(body: #"{"issuer":"https://other.test"}"#),
  ]

  @Test(arguments: others.indices) func anotherAnswerThanTheMetadata_isNoSignOfLife(index: Int) async {
    let other = Self.others[index]
    #expect(await answers(other, nil) == false)
    #expect(await answers(other, .init(body: "<html>", type: "text/html")) == false)
    // A provider without metadata, or with its documents on another server.
    #expect(await answers(other, .init(status: 400, body: #"{"error":"invalid_request"}"#)))
  }

  @Test func signOfLife_sendsTheTokenEndpointNoToken() async {
    let server = Server([Self.token: .init(status: 401, body: #"{"error":"invalid_client"}"#)])
    let client = server.client {
      $0.configuration.endpoints.token = Self.token
      $0 = Provider(configuration: $0.configuration, clientSecret: Secret(text: "s3cret"), metadata: nil)
    }
    #expect(await client.documents.answers())
    #expect(server.requests == ["GET \(Self.document)", "POST \(Self.token)"])
    #expect(server.bodies == ["grant_type=refresh_token"])
  }

  /// Of introspection, too: the agent could not tell whose token it is.
  @Test(arguments: [
    (#"{"active":true,"sub":"alice"}"#, true), (#"{"active":true,"sub":"alice","sub":"bob"}"#, false),
    (#"{"active":true,"sub":"bob"}"#, false), (#"{"active":true,"active":false,"sub":"alice"}"#, false),
  ])
  func introspectionThatNamesAMemberTwice_confirmsNobody(body: String, isConfirmed: Bool) async {
    let client = Server(["https://idp.test/introspect": .init(body: body)]).client {
      $0.configuration.endpoints.introspection = "https://idp.test/introspect"
    }
    let rights = RightsRequests(by: client, keySets: nil)
    let confirmedAt = try? await rights.confirmByIntrospection(Secret(text: "at"), subject: "alice")
    #expect((confirmedAt != nil) == isConfirmed)
  }

  /// Whom userinfo names at a sign-in.
  @Test(
    arguments: [
      (#"{"sub":"j\u00f6rg"}"#, "j\u{F6}rg"), (#"{"id":41}"#, "41"), (#"{"sub":"j\ud800rg"}"#, nil),
      (#"{"sub":"a","sub":"b"}"#, nil), (#"{"sub":""}"#, nil), (#"{"sub":"unproven:a"}"#, nil),
      (#"{"sub":"secret:a"}"#, nil), (#"{"id":1.5}"#, nil),
    ] as [(String, String?)])
  func subjectThatIsReplacedOrDoubled_isNone(body: String, subject: String?) async throws {
    let server = Server(["https://idp.test/me": .init(body: body)])
    let client = server.client {
      $0.configuration.endpoints.userinfo = "https://idp.test/me"
    }
    let answer = try #require(TokenResponse(body: Secret(text: #"{"access_token":"at","token_type":"Bearer"}"#)))
    let person = try? await IdentityProof(client: client, now: server.wall())
      .identify(answer, nonce: .unasked, scopes: [])
    #expect(person?.identity.subject == subject)
  }

  @Test func listThatIsOneText_isRead() async throws {
    let body =
      #"{"issuer":"https://idp.test","code_challenge_methods_supported":"S256","scopes_supported":"openid email","#
      + #""token_endpoint_auth_methods_supported":null,"id_token_signing_alg_values_supported":["RS256",7]}"#
    let metadata = try await Server([Self.document: .init(body: body)]).client().documents.discover()
    #expect(metadata.codeChallengeMethods == ["S256"] && metadata.scopesSupported == ["email", "openid"])
    #expect(metadata.tokenEndpointAuthMethods.isEmpty && metadata.idTokenAlgorithms == ["RS256"])
  }

  /// A rate limit and a dead token in a provider's own words say nothing against the client.
  @Test func trials_knowTheWordsOfARateLimitAndOfADeadToken() async {
    let limit =
      #"{"error_description":"You have made too many requests continuously.","error":"Access Denied","status":"failure"}"#
    let server = Server([
      "https://idp.test/token": .init(status: 400, body: limit),
      "https://idp.test/revoke": .init(status: 400, body: #"{"error":"invalid_token"}"#),
    ])
    let client = server.client {
      $0.configuration.endpoints.token = "https://idp.test/token"
      $0.configuration.endpoints.revocation = "https://idp.test/revoke"
    }
    #expect(await client.trials.token() == .failed(.transient("throttled", retryAfter: nil)))
    #expect(await client.trials.revocation(at: "https://idp.test/revoke") == .works)
  }
}

/// Answers to a registration (RFC 7591 §3.2.1).
@Suite struct RegistrationAnswerTests {
  private static let redirect = "http://127.0.0.1:20123/callback"

  private func read(_ body: String) -> ClientRegistration.Answer? {
    try? ClientRegistration.Answer(body: Secret(text: body), redirectURI: Self.redirect)
  }

  @Test(arguments: [
    #"{"client_id":"c"}"#, #"{"client_id":"c","token_endpoint_auth_method":""}"#,
    #"{"client_id":"c","token_endpoint_auth_method":null}"#,
    #"{"client_id":"c","token_endpoint_auth_method":"client_secret_basic"}"#,
    #"{"client_id":"c","token_endpoint_auth_method":"client_secret_post","client_secret":""}"#,
    #"{"client_id":"c","token_endpoint_auth_method":"NONE","client_secret":null}"#,
    #"{"client_id":"c","token_endpoint_auth_method":"pkce","grant_types":"authorization_code","jwks":{},"x":[1]}"#,
    "\u{FEFF}" + #"{"client_id":"c","client_id_issued_at":"yesterday","client_secret_expires_at":0}"#,
  ])
  func answerWithoutASecret_isAPublicClient(body: String) {
    let answer = read(body)
    #expect(answer?.clientID == "c")
    #expect(answer?.method == .publicClient)
    #expect(answer?.clientSecret == nil)
  }

  @Test func numericClientID_isTakenAsText() {
    #expect(read(#"{"client_id":123456}"#)?.clientID == "123456")
    #expect(read(#"{"client_id":340282366920938463463374607431768211456}"#)?.clientID.utf8.count == 39)
    #expect(read(#"{"client_id":1.5}"#) == nil)
    #expect(read(#"{"client_id":-1}"#)?.clientID == "-1")
  }

  @Test(arguments: [
    ("client_secret_basic", ClientAuthMethod.clientSecretBasic), ("client_secret_post", .clientSecretPost),
    ("", nil), ("secret", nil),
  ])
  func answerWithASecret_keepsIt(word: String, method: ClientAuthMethod?) {
    let answer = read(#"{"client_id":"c","client_secret":"s","token_endpoint_auth_method":"\#(word)"}"#)
    #expect(answer?.method == method)
    #expect(answer?.clientSecret?.count == 1)
  }

  @Test(arguments: ["tls_client_auth", "private_key_jwt", "client_secret_jwt", "self_signed_tls_client_auth"])
  func authenticationByAKey_isRefused(word: String) {
    #expect(read(#"{"client_id":"c","client_secret":"s","token_endpoint_auth_method":"\#(word)"}"#) == nil)
    #expect(read(#"{"client_id":"c","token_endpoint_auth_method":"\#(word)"}"#) == nil)
  }

  @Test(arguments: [
    #"{"client_id":""}"#, #"{"client_id":null}"#, #"{"client_id":["c"]}"#, "{}", "[]", "c", "",
    #"{"client_id":"c\ud800"}"#, #"{"client_id":"c","client_secret":"s\ud800"}"#,
  ])
  func answerWithoutAClient_isRefused(body: String) { #expect(read(body) == nil) }

  @Test(arguments: [
    (#"["http://127.0.0.1:20123/callback"]"#, true), (#"["https://a.test/cb","http://127.0.0.1/callback"]"#, true),
    (#""http://127.0.0.1:20123/callback""#, true), ("null", true),
    (#"["http://127.0.0.1:20124/callback"]"#, false), (#"["https://evil.test/callback"]"#, false), ("[]", false),
    (#"["http://127.0.0.1:20123/other"]"#, false), (#"["http://localhost:20123/callback"]"#, false), ("{}", false),
  ])
  func registeredRedirects_haveToNameOurs(listed: String, isTaken: Bool) {
    #expect((read(#"{"client_id":"c","redirect_uris":\#(listed)}"#) != nil) == isTaken)
  }
}
