import AgentModel
import ProxyCore
import Testing

struct PassedRequestTests {
  private func bytes(
    _ line: String, _ fields: [String], leadsToProxy: Bool = false, credentials: String? = nil
  ) throws -> String {
    let head = try requestHead(([line + " HTTP/1.1"] + fields).joined(separator: "\r\n") + "\r\n\r\n")
    guard case .absolute(let url) = head.target else { throw Refusal(0, "", "") }
    return String(
      decoding: try PassedRequest(head, to: url).bytes(leadsToProxy: leadsToProxy, proxyCredentials: credentials),
      as: UTF8.self)
  }

  @Test func urlDecidesOverHost() throws {
    let sent = try bytes(
      "GET http://a.example:8080/x?y=1", ["Host: b.example", "Authorization: Bearer own", "Cookie: c=d"])
    #expect(
      sent
        == "GET /x?y=1 HTTP/1.1\r\nHost: a.example:8080\r\nAuthorization: Bearer own\r\nCookie: c=d\r\nConnection: close\r\n\r\n"
    )
    #expect(try bytes("GET http://A.example/", ["Host: a.example"]).contains("\r\nHost: a.example\r\n"))
  }

  @Test func fieldsAboutTheConnection_stayBehind() throws {
    let sent = try bytes(
      "POST http://a.example/",
      [
        "Host: a.example", "Proxy-Authorization: Basic bGFueWFyZA==", "Proxy-Connection: keep-alive",
        "Connection: keep-alive, X-Hop",
        "X-Hop: h", "Keep-Alive: 5", "TE: trailers", "Expect: 100-continue", "Content-Length: 3", "X-Kept: k",
        "Upgrade: h2c",
      ])
    #expect(
      sent == "POST / HTTP/1.1\r\nHost: a.example\r\nX-Kept: k\r\nContent-Length: 3\r\nConnection: close\r\n\r\n")
  }

  @Test func nextProxy_getsTheWholeURLAndItsCredentials() throws {
    let sent = try bytes("GET http://a.example/x", ["Host: a.example"], leadsToProxy: true, credentials: "Basic dTpw")
    #expect(
      sent
        == "GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\nProxy-Authorization: Basic dTpw\r\nConnection: close\r\n\r\n"
    )
  }

  private static let handshake = [
    "Host: a.example", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ]

  @Test func handshakeOfAWebSocket_passesWithItsUpgrade() throws {
    let sent = try bytes("GET http://a.example/", Self.handshake)
    #expect(
      sent == "GET / HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nConnection: Upgrade\r\n\r\n")
  }

  @Test func offerOfHTTP2_staysBehind() throws {
    let sent = try bytes(
      "GET http://a.example/",
      ["Host: a.example", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQ"])
    #expect(sent == "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
  }

  @Test(arguments: ["tcp", "h2c, websocket", "TLS/1.0", "websocket"]) func otherUpgrade_isRefused(_ name: String) {
    let refusal = #expect(throws: Refusal.self) {
      try bytes("GET http://a.example/", ["Host: a.example", "Connection: Upgrade", "Upgrade: \(name)"])
    }
    #expect(refusal?.status == 501)
  }

  @Test func requestOfHTTP10_passesAsOne() throws {
    let head = try requestHead("GET http://a.example/x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    let passed = try PassedRequest(head, to: HTTPURL("http://a.example/x")!)
    #expect(
      String(decoding: passed.bytes(leadsToProxy: false, proxyCredentials: nil), as: UTF8.self)
        == "GET /x HTTP/1.0\r\nHost: a.example\r\nConnection: close\r\n\r\n")
  }

  // MARK: the answer

  private func answer(_ text: String, of version: String = "HTTP/1.1", isWebSocket: Bool = false) throws
    -> PassedAnswer?
  {
    let fields = isWebSocket ? Self.handshake : ["Host: a.example"]
    let head = try requestHead((["GET http://a.example/ " + version] + fields).joined(separator: "\r\n") + "\r\n\r\n")
    return try PassedAnswer(Array(text.utf8), to: PassedRequest(head, to: HTTPURL("http://a.example/")!))
  }

  @Test func answer_endsTheConnectionAndKeepsEveryOtherByte() throws {
    let text =
      "HTTP/1.0 200  Fine\r\nconnection: keep-alive, X-Hop\r\nKeep-Alive: 5\r\nX-Hop: h\r\nUpgrade: h2c\r\n"
      + "Set-Cookie:a=b \nX-Folded: one\r\n two\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello"
    for count in 0..<(text.utf8.count - 8) {
      #expect(try answer(String(decoding: text.utf8.prefix(count), as: UTF8.self)) == nil)
    }
    let answer = try #require(try answer(text))
    #expect(!answer.isInterim && answer.status == 200)
    #expect(
      String(decoding: answer.bytes, as: UTF8.self)
        == "HTTP/1.0 200  Fine\r\nSet-Cookie:a=b \r\nX-Folded: one\r\n two\r\nTransfer-Encoding: chunked\r\n"
        + "Connection: close\r\n\r\n")
    #expect(answer.rest == Array("5\r\nhello".utf8))
  }

  @Test func interimAnswer_leavesTheConnectionOpen() throws {
    let answer = try #require(try answer("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200"))
    #expect(answer.isInterim && answer.rest == Array("HTTP/1.1 200".utf8))
    #expect(String(decoding: answer.bytes, as: UTF8.self) == "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
  }

  @Test func switchOfProtocols_isForAWebSocketAlone() throws {
    let text = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    let opened = try #require(try answer(text + "frame", isWebSocket: true))
    #expect(!opened.isInterim)
    #expect(String(decoding: opened.bytes, as: UTF8.self) == text)
    #expect(opened.rest == Array("frame".utf8))
    #expect(throws: Refusal.self) { try answer(text) }
    let declined = try #require(try answer("HTTP/1.1 200 OK\r\n\r\n", isWebSocket: true))
    #expect(String(decoding: declined.bytes, as: UTF8.self) == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
  }

  @Test func chunks_areNotPassedToAClientOfHTTP10() throws {
    let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    #expect(throws: Refusal.self) { try answer(text, of: "HTTP/1.0") }
    #expect(try answer("HTTP/1.1 200 OK\r\n\r\n", of: "HTTP/1.0")?.status == 200)
  }

  @Test func answerThatIsNone_isRefused() {
    let long = "HTTP/1.1 200 OK\r\n" + String(repeating: "a", count: HandshakeAnswer.mostBytes)
    for text in ["SSH-2.0-OpenSSH", "\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1\r\n\r\n", long] {
      #expect(throws: Refusal.self, "\(text.prefix(20))") { try answer(text) }
    }
  }

  @Test(arguments: ["TRACE", "trace", "TRACK"]) func methodThatTellsTheHeadBack_isRefused(_ method: String) {
    #expect(throws: Refusal.self) { try bytes("\(method) http://a.example/", ["Host: a.example"]) }
  }
}
