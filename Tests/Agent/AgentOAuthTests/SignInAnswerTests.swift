import AgentCore
import AgentModel
import Secrets
import Testing

import AgentOAuth

/// Pasted redirect answers, and responses of device authorization endpoints.
@Suite struct SignInAnswerTests {
  @Test(arguments: ["invalid_scope", "invalid_authorization_details", "unmet_authentication_requirements"])
  func standardError_isTold(name: String) {
    #expect(AuthorizationAnswer.known(name) == name)
    #expect(AuthorizationAnswer.known(name + "x") == "other")
  }

  @Test func listedTypesOfAuthorizationDetails_areStoredWithTheProvider() throws {
    var metadata = ServerMetadata(issuer: "https://idp.test")
    metadata.authorizationDetailsTypes = ["payment_initiation"]
    let configuration = ProviderConfiguration(
      name: ProviderName("idp")!, issuer: "https://idp.test", clientID: "me")
    let stored = try #require(Provider(Provider(configuration: configuration, metadata: metadata).record))
    #expect(stored.metadata?.authorizationDetailsTypes == ["payment_initiation"])
    #expect(ServerMetadata(issuer: "https://idp.test").joined(with: metadata) == metadata)
    metadata.authorizationDetailsTypes = []
    let without = try #require(Provider(Provider(configuration: configuration, metadata: metadata).record))
    #expect(without.metadata?.authorizationDetailsTypes == [])
  }

  @Test(
    arguments: [
      (nil, [], .unasked), (nil, ["mfa"], .voluntary(["mfa"])), ("{}", ["mfa"], .voluntary(["mfa"])),
      (#"{"id_token":{"acr":null}}"#, [], .unasked),
      (#"{"id_token":{"acr":{"values":["phr"]}}}"#, ["mfa"], .voluntary(["mfa"])),
      (#"{"id_token":{"acr":{"essential":false,"value":"phr"}}}"#, [], .unasked),
      (#"{"userinfo":{"acr":{"essential":true,"value":"phr"}}}"#, [], .unasked),
      (#"{"id_token":{"acr":{"essential":true,"value":"phr"}}}"#, ["mfa"], .essential(["phr"])),
      (#"{"id_token":{"acr":{"essential":true,"values":["phr","mfa"]}}}"#, [], .essential(["phr", "mfa"])),
      (#"{"id_token":{"acr":{"essential":true}}}"#, [], .essential([])),
    ] as [(String?, [String], IDTokenPolicy.Context)])
  func requestedContext_isReadFromTheRequest(claims: String?, acrValues: [String], expected: IDTokenPolicy.Context) {
    #expect(RequestedAuthentication(acrValues: acrValues, claims: claims).context == expected)
  }

  /// A `PastedAnswer` in plain text.
  enum Expected {
    case address(String, String)
    case query(String)
    case code(String)

    var answer: PastedAnswer {
      switch self {
      case .address(let base, let query): .address(base: Secret(text: base), query: Secret(text: query))
      case .query(let text): .query(Secret(text: text))
      case .code(let text): .code(Secret(text: text))
      }
    }
  }

  @Test(
    arguments: [
      // The whole address, with the text that may surround it.
      ("http://127.0.0.1:8765/callback?code=c&state=s", .address("http://127.0.0.1:8765/callback", "code=c&state=s")),
      ("  http://127.0.0.1/callback?code=c&state=s \r\n", .address("http://127.0.0.1/callback", "code=c&state=s")),
      ("<http://127.0.0.1/callback?code=c&state=s>", .address("http://127.0.0.1/callback", "code=c&state=s")),
      (
        "\"http://[::1]:1/cb?error=access_denied&state=s\"",
        .address("http://[::1]:1/cb", "error=access_denied&state=s")
      ),
      ("http://127.0.0.1/callback?code=c&state=s#_=_", .address("http://127.0.0.1/callback", "code=c&state=s")),
      // Wrapped, with blanks, and as HTML.
      ("http://127.0.0.1/call\nback?code=c\r\n  1&state=s", .address("http://127.0.0.1/callback", "code=c1&state=s")),
      ("http://127.0.0.1/callback?code=c &amp; state=s", .address("http://127.0.0.1/callback", "code=c&state=s")),
      ("code=c&amp;state=s", .query("code=c&state=s")),
      (
        "http://127.0.0.1/callback?code=c&#38;state=s&#x26;iss=i",
        .address("http://127.0.0.1/callback", "code=c&state=s&iss=i")
      ),
      // As chats and editors change it.
      (
        "\u{201C}http://127.0.0.1/cb?code=c\u{200B}d&state=s\u{201D}",
        .address("http://127.0.0.1/cb", "code=cd&state=s")
      ),
      ("\u{FEFF}`http://127.0.0.1/cb?code=c&\u{A0}state=s\u{AD}`", .address("http://127.0.0.1/cb", "code=c&state=s")),
      ("\u{AB}Splx\u{2028}lOBe\u{BB}", .code("SplxlOBe")), ("no\u{A0}code", nil),
      ("Splx\n  lOBe", .code("SplxlOBe")),
      // The end of the address.
      ("127.0.0.1:8765/callback?code=c&state=s", .address("127.0.0.1:8765/callback", "code=c&state=s")),
      ("/callback?code=c&state=s", .query("code=c&state=s")),
      ("?code=c&state=s", .query("code=c&state=s")),
      ("code=c&state=s", .query("code=c&state=s")),
      ("state=s&code=c", .query("state=s&code=c")),
      ("iss=https://idp.example&code=c", .query("iss=https://idp.example&code=c")),
      ("http://127.0.0.1/callback?", .address("http://127.0.0.1/callback", "")),
      // Only the code, as a page shows it and as an address carries it.
      ("SplxlOBeZQQYbYS6WxSbIA", .code("SplxlOBeZQQYbYS6WxSbIA")),
      ("4/0AbC-d_e", .code("4/0AbC-d_e")),
      ("4%2F0AbC-d_e", .code("4/0AbC-d_e")),
      ("M.C507_BL2.2.U.x-y==", .code("M.C507_BL2.2.U.x-y==")),
      ("a+b", .code("a+b")), ("100%", .code("100%")), ("code", .code("code")),
      // None of these.
      ("", nil), ("   ", nil), ("http://127.0.0.1/callback", nil), ("https://idp.example/#code=c&state=s", nil),
      ("this is not it", nil), ("c\u{1B}[2J", nil), ("c\u{0}d", nil), ("ç", nil), ("a%20b", nil),
    ] as [(String, Expected?)])
  func pastedText_isParsedAsAnAnswer(text: String, answer: Expected?) {
    #expect(PastedAnswer(Secret(text: text)) == answer?.answer)
  }

  @Test func pastedAddress_isComparedWhole() throws {
    let redirect = "http://127.0.0.1:8765/callback-idp"
    func isElsewhere(_ base: String) throws -> Bool {
      try #require(PastedAnswer(Secret(text: base + "?code=c&state=s"))).isElsewhere(than: redirect)
    }
    #expect(try !isElsewhere(redirect) && !isElsewhere("127.0.0.1:8765/callback-idp"))
    #expect(try !isElsewhere("http://127.0.0.1/callback-idp"), "the port tells nothing")
    for other in [
      "http://127.0.0.1:8765/callback", "http://127.0.0.1:8765/callback-idp/", "http://127.0.0.1:8766/callback-idp",
      "https://127.0.0.1:8765/callback-idp", "http://localhost:8765/callback-idp", "http://evil.test/callback-idp",
    ] {
      #expect(try isElsewhere(other), "\(other)")
    }
  }

  @Test(
    "Only the parameters of the answer have to be clean and single",
    arguments: [
      ("code=c&state=s&x=1&x=2", true), ("code=c&state=s&x=%FF", true), ("code=c&state=s&x=%", true),
      ("%FF=1&code=c&state=s", true), ("code=c&code=c&state=s", false), ("code=c&state=s&iss=a&iss=b", false),
      ("error=a&error=b&state=s", false), ("code=%FF&state=s", false), ("code=c&state=%", false),
    ])
  func query_isReadDespiteForeignParameters(text: String, isRead: Bool) {
    let query = SecretQuery(Secret(text: text))
    #expect((query.map { !$0.hasDuplicates } ?? false) == isRead)
    if isRead { #expect(query?.text("code") == "c" && query?.text("state") == "s") }
  }

  private func provider(
    _ name: String, at issuer: String? = nil, path: String = "/callback", iss: Bool = false
  ) -> Provider {
    var configuration = ProviderConfiguration(
      name: ProviderName(name)!, issuer: issuer ?? "https://\(name).test", clientID: "me")
    configuration.redirect.path = path
    var metadata = ServerMetadata(issuer: configuration.issuer)
    metadata.authorizationResponseIssuer = iss
    return Provider(configuration: configuration, metadata: metadata)
  }

  @Test func answersOfTwoServers_areToldApartByPathOrIssuer() {
    #expect(provider("a").canPassOff(provider("b")))
    #expect(!provider("a", path: "/callback-a").canPassOff(provider("b")))
    #expect(!provider("a", iss: true).canPassOff(provider("b")), "it must name itself")
    #expect(!provider("a").canPassOff(provider("b", iss: true)), "the other names itself")
    #expect(!provider("a").canPassOff(provider("a")), "two clients of one server")
    var withPort = provider("b")
    withPort.configuration.redirect.port = 8765
    #expect(provider("a").canPassOff(withPort), "a server may take another port")
    withPort.configuration.preset = "okta"
    #expect(!provider("a").canPassOff(withPort), "this one compares it")
  }

  @Test func serverThatTakesEveryPath_canBePassedOffByAnyButAKnownOne() {
    var google = provider("google", at: "https://accounts.google.com", path: "/callback-google")
    for preset in ["google", nil] {
      google.configuration.preset = preset
      #expect(provider("evil", path: "/callback-evil").canPassOff(google))
      #expect(!provider("evil", path: "/callback-evil", iss: true).canPassOff(google))
      #expect(!provider("gitlab", at: "https://gitlab.com").canPassOff(google), "its operator is known")
      #expect(!google.canPassOff(provider("evil", path: "/callback-evil")))
      guard case .noRedirect = provider("evil").remedy(forPassingOff: google) else {
        Issue.record("a path would help")
        continue
      }
    }
  }

  @Test func pathBelowAnothers_isTakenByItsServer() {
    #expect(provider("evil", path: "/callback/evil").canPassOff(provider("b")))
    #expect(provider("evil", path: "/callback-evil").canPassOff(provider("b", path: "/")))
    #expect(!provider("evil", path: "/callback-evil").canPassOff(provider("b")))
  }

  @Test func remedy_keepsHostAndPort() {
    var okta = provider("okta")
    (okta.configuration.redirect.host, okta.configuration.redirect.port) = ("localhost", 8765)
    guard case .redirect(let own) = okta.remedy(forPassingOff: provider("b")) else {
      Issue.record("no redirect")
      return
    }
    #expect(own.host == "localhost" && own.port == 8765 && own.path == "/callback-okta")
    guard case .noRedirect = okta.remedy(forPassingOff: provider("b", path: "/")) else {
      Issue.record("its own path is below the other's")
      return
    }
  }

  private func read(_ members: String) -> DeviceAuthorization? { DeviceAuthorization(body: Secret(text: members)) }

  @Test func standardDeviceResponse_isParsed() throws {
    // RFC 8628 §3.2.
    let device = try #require(
      read(
        """
        {"device_code":"GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS","user_code":"WDJB-MJHT",
        "verification_uri":"https://example.com/device","verification_uri_complete":
        "https://example.com/device?user_code=WDJB-MJHT","expires_in":1800,"interval":5}
        """))
    #expect(device.userCode == "WDJB-MJHT")
    #expect(device.verificationURI == "https://example.com/device")
    #expect(device.verificationURIComplete == "https://example.com/device?user_code=WDJB-MJHT")
    #expect(device.lifetime == .seconds(1800))
    #expect(device.interval == .seconds(5))
  }

  @Test func missingDeviceResponseMembers_haveDefaults() throws {
    let device = try #require(
      read(#"{"device_code":"d","user_code":"u","verification_url":"https://example.com/device"}"#))
    #expect(device.verificationURIComplete == nil)
    #expect(device.lifetime == .seconds(600))
    #expect(device.interval == .seconds(5))
  }

  /// A member that is null or empty is as absent, and a code of digits may be a number.
  @Test(arguments: ["null", #""""#]) func memberThatSaysNothing_isAsAbsent(nothing: String) throws {
    let device = try #require(
      read(
        #"{"device_code":"d","user_code":123456,"verification_uri":\#(nothing),"verification_uri_complete":\#(nothing),"#
          + #""verification_url":"https://a.example/","verification_url_complete":"https://a.example/?c"}"#))
    #expect(device.userCode == "123456" && device.verificationURI == "https://a.example/")
    #expect(device.verificationURIComplete == "https://a.example/?c")
  }

  @Test(
    arguments: [
      (#""expires_in":"899","interval":"7""#, 899, 7), (#""expires_in":86400,"interval":0"#, 3600, 1),
      (#""expires_in":1,"interval":-5"#, 1, 1),
      // No server issues a code that has expired.
      (#""expires_in":0"#, 600, 5), (#""expires_in":-1,"interval":null"#, 600, 5),
      (#""expires_in":9007199254740991,"interval":9007199254740991"#, 3600, 3600),
    ] as [(String, Int64, Int64)])
  func deviceLifetimeAndInterval_areBounded(members: String, lifetime: Int64, interval: Int64) throws {
    let device = try #require(
      read(#"{"device_code":"d","user_code":"u","verification_uri":"https://example.com/",\#(members)}"#))
    #expect(device.lifetime == .seconds(lifetime))
    #expect(device.interval == .seconds(interval))
  }

  @Test(
    arguments: [
      "https://example.com/device", "http://127.0.0.1:8080/device", "http://localhost/device",
      "https://a.example/#/device",
    ])
  func webVerificationURI_isAccepted(address: String) throws {
    let device = try #require(
      read(#"{"device_code":"d","user_code":"u","verification_uri":"\#(address)","expires_in":600}"#))
    #expect(device.verificationURI == address)
  }

  @Test(
    arguments: [
      "http://example.com/device", "file:///etc/passwd", "javascript:alert(1)", "example.com/device", "", "-x",
      "https://user@example.com/", "https://example.com/\\u001b[2J", "https://example.com/ x",
      "https://example.com/#\\u0000",
    ])
  func verificationURIThatIsNoWebPage_isRefused(address: String) throws {
    #expect(read(#"{"device_code":"d","user_code":"u","verification_uri":"\#(address)","expires_in":600}"#) == nil)
    // The address with the code is a convenience: it is dropped.
    let device = try #require(
      read(
        #"{"device_code":"d","user_code":"u","verification_uri":"https://a.example/","#
          + #""verification_uri_complete":"\#(address)"}"#))
    #expect(device.verificationURIComplete == nil)
  }

  @Test(
    arguments: [
      "", "[]", "null", "{}", #"{"device_code":"d","user_code":"u"}"#,
      #"{"device_code":"","user_code":"u","verification_uri":"https://a.example/"}"#,
      #"{"user_code":"u","verification_uri":"https://a.example/"}"#,
      #"{"device_code":"d","user_code":"","verification_uri":"https://a.example/"}"#,
      #"{"device_code":"d","user_code":"\u001b[2J","verification_uri":"https://a.example/"}"#,
      #"{"device_code":7,"user_code":"u","verification_uri":"https://a.example/"}"#,
    ])
  func deviceResponseWithoutTheRequiredMembers_isRefused(body: String) { #expect(read(body) == nil) }
}
