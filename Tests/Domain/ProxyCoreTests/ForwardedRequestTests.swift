import AgentCore
import AgentModel
import ProxyCore
import Testing

struct ForwardedRequestTests {
  private let tunnel = HTTPURL("https://api.example")!

  private func forwarded(
    _ line: String, _ fields: [String] = [], host: String = "api.example", serverName: String? = "api.example"
  ) throws -> ForwardedRequest {
    let text = ([line + " HTTP/1.1", "Host: \(host)"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
    let request = try ForwardedRequest(requestHead(text), tunnel: tunnel, serverName: serverName)
    _ = try request.fields(under: RequestNames())
    return request
  }

  private func refusal(_ body: () throws -> ForwardedRequest) -> Refusal? {
    do {
      _ = try body()
      return nil
    } catch {
      return error as? Refusal
    }
  }

  @Test func credentialsOfTheProgramAreDropped() throws {
    let request = try forwarded(
      "GET /a",
      [
        "Authorization: Bearer own", "Cookie: a=b", "X-Api-Key: c", "x_api_key: d", "Private-Token: e",
        "Proxy-Authorization: f", "DPoP: g", "Accept: text/plain", "Accept-Encoding: gzip", "Te: trailers",
        "Range: bytes=0-9", "If-Range: a", "Request-Range: bytes=0-9", "X-Forwarded-User: j", "Remote_User: k",
        "X-Forwarded-For: 10.0.0.1", "Forwarded: for=10.0.0.1", "X-Access-Key: l",
        "Connection: keep-alive, X-Hop", "X-Hop: h", "X-Request-Id: i",
      ])
    let fields = try request.fields(under: RequestNames())
    #expect(fields.all.map { "\($0.name): \($0.value)" } == ["Accept: text/plain", "X-Request-Id: i"])
    #expect(Set(fields.leftOut.map(\.name)).isSuperset(of: ["x-api-key", "x_api_key", "private-token", "forwarded"]))
    let allowed = try request.fields(under: RequestNames(allowed: ["X-Api-Key"]))
    #expect(allowed.all.map(\.name) == ["X-Api-Key", "x_api_key", "Accept", "X-Request-Id"])
    #expect(request.url.text == "https://api.example/a")
  }

  @Test func hostsThatDoNotAgreeAreMisdirected() {
    #expect(refusal { try forwarded("GET /", host: "other.example") }?.status == 421)
    #expect(refusal { try forwarded("GET /", host: "api.example:8443") }?.status == 421)
    #expect(refusal { try forwarded("GET /", serverName: "other.example") }?.status == 421)
    #expect(refusal { try forwarded("GET https://other.example/") }?.status == 421)
    #expect(refusal { try forwarded("GET /", host: "API.example:443", serverName: "Api.Example") } == nil)
    #expect(refusal { try forwarded("GET /", serverName: nil) } == nil)
  }

  @Test func hostThatIsNoneIsMalformed() {
    for host in ["", "api.example/", "a@api.example", "api.example?", "api.example:99999"] {
      #expect(refusal { try forwarded("GET /", host: host) }?.status == 400, "\(host)")
    }
  }

  @Test func offerOfHTTP2_isLeftOut() throws {
    let offer = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQ"]
    for fields in [offer, Array(offer.dropFirst())] {
      let request = try forwarded("GET /", fields)
      #expect(!request.isWebSocket)
      let names = try request.fields(under: RequestNames(allowed: [])).all.map { $0.name.lowercased() }
      #expect(!names.contains("upgrade") && !names.contains("http2-settings"))
    }
  }

  @Test func fieldsThatTurnTheRequestIntoAnotherAreRefused() {
    let fields = [
      "X-HTTP-Method-Override: DELETE", "x_http_method: PUT", "X-Original-URL: /admin", "X-Rewrite-URL: /",
      "X-Forwarded-Method: DELETE", "Sudo: root", "Impersonate-User: admin", "impersonate_extra-a: b",
    ]
    for field in fields {
      #expect(refusal { try forwarded("POST /", [field]) }?.name == "overrideRefused", "\(field)")
    }
    #expect(refusal { try forwarded("GET /", ["Dropbox-API-Select-User: a"]) }?.name == "overrideRefused")
    #expect(refusal { try forwarded("GET /", ["Upgrade: websocket"]) }?.name == "upgradeRefused")
    for other in ["h2c, websocket", "tcp", "", "TLS/1.0"] {
      #expect(
        refusal { try forwarded("GET /", ["Connection: Upgrade", "Upgrade: \(other)"]) }?.name == "upgradeRefused")
    }
    #expect(refusal { try forwarded("TRACE /") }?.status == 405)
    #expect(refusal { try forwarded("HEAD /", ["Content-Length: 1"]) }?.status == 400)
  }

  @Test func queriesThatHoldACredentialOrAnotherRequestAreRefused() {
    let credentials = [
      "access_token=a", "a=b&access%5Ftoken=a", "a=b;Access_Token=c", "private_token=a", "api_key=a", "access.token=a",
      "access%20token=a", "+access_token=a", "access_token[]=a", "access_token[0]=a",
      "token=b", "api_token=b", "jwt=b",
    ]
    for query in credentials {
      #expect(refusal { try forwarded("GET /?\(query)") }?.name == "credentialInURL", "\(query)")
    }
    let overrides = [
      "_method=DELETE", "%24httpMethod=DELETE", "a&$httpHeaders=Authorization%3AA", "sudo=root", "doAs=b",
      "_switch_user=b",
    ]
    for query in overrides {
      #expect(refusal { try forwarded("GET /?\(query)") }?.name == "overrideRefused", "\(query)")
    }
    #expect(refusal { try forwarded("GET /?q=access_token&method=a&page_token=b") } == nil)
    #expect(refusal { try forwarded("GET /a;jsessionid=b/c") }?.name == "credentialInURL")
  }

  @Test(arguments: [
    ["Content-Type: application/json", "Connection: Content-Type"],
    ["Content-Type: application/json", "Content_Type: application/x-www-form-urlencoded"],
    ["Content_Type: application/json"],
  ])
  func bodyIsReadAsTheFieldsThatGoOnTellIt(fields: [String]) throws {
    let body = Array("_method=DELETE".utf8)
    let request = try forwarded("POST /", fields + ["Content-Length: \(body.count)"])
    let names = RequestNames()
    #expect(throws: (any Error).self) {
      var form = try request.form(sentWith: request.fields(under: names), under: names)
      try body.withUnsafeBytes { try form?.takeAll($0) }
    }
  }

  @Test func requestWithoutATunnelNamesAWholeURL() throws {
    let plain = try requestHead("GET http://127.0.0.1:8000/a HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n\r\n")
    #expect(try ForwardedRequest(plain, tunnel: nil, serverName: nil).url.text == "http://127.0.0.1:8000/a")
    let path = try requestHead("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(throws: Refusal.self) { try ForwardedRequest(path, tunnel: nil, serverName: nil) }
    let secure = try requestHead("GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(throws: Refusal.self) { try ForwardedRequest(secure, tunnel: nil, serverName: nil) }
  }

  @Test("A tunnel leads to an origin of http where that of https is not allowed at this host and port")
  func tunnelToPlainHTTP() throws {
    let origins = AllowedOrigins([
      "https://a.example", "http://127.0.0.1:8000", "http://[::1]", "http://localhost:9000", "https://localhost:9000",
    ])
    for (named, led) in [
      ("https://127.0.0.1:8000", "http://127.0.0.1:8000"), ("https://[::1]:80", "http://[::1]"),
      ("https://localhost:9000", "https://localhost:9000"), ("https://a.example", "https://a.example"),
      ("https://127.0.0.1:8001", "https://127.0.0.1:8001"), ("https://a.example:80", "https://a.example:80"),
    ] {
      #expect(origins.tunnelled(to: HTTPURL(named)!).origin == led, "\(named)")
    }
    let tunnel = HTTPURL("http://127.0.0.1:8000")!
    let head = try requestHead("GET /a HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n\r\n")
    #expect(try ForwardedRequest(head, tunnel: tunnel, serverName: nil).url.text == "http://127.0.0.1:8000/a")
  }

  @Test func originsAreNarrowedAndNeverWidened() throws {
    let all = AllowedOrigins([
      "https://a.example", "https://B.example:443/", "http://127.0.0.1:8000", "http://far.example", "nonsense",
    ])
    #expect(all.all == ["http://127.0.0.1:8000", "https://a.example", "https://b.example"])
    #expect(all.narrowed(to: ["https://b.example", "https://c.example"]).all == ["https://b.example"])
    #expect(all.hosts == ["a.example", "b.example"])
    let other = HTTPURL("https://a.example:8443/")!
    let refusals = try [false, true].map { isOfGrant in
      try #require(throws: Refusal.self) { try all.check(other, isOfGrant: isOfGrant) }
    }
    #expect(refusals[0].sentence.contains("without a token, --pass lets it through."))
    #expect(refusals[1].sentence.contains("a grant with --pass lets it through (`lanyard help grant create`)"))
  }
}
