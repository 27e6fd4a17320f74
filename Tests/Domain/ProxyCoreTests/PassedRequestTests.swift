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

  @Test func upgrade_passes() throws {
    let sent = try bytes("GET http://a.example/", ["Host: a.example", "Connection: Upgrade", "Upgrade: websocket"])
    #expect(sent == "GET / HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
  }

  @Test(arguments: ["TRACE", "trace", "TRACK"]) func methodThatTellsTheHeadBack_isRefused(_ method: String) {
    #expect(throws: Refusal.self) { try bytes("\(method) http://a.example/", ["Host: a.example"]) }
  }
}
