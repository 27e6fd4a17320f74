import AgentModel
import AgentPorts
import Foundation
import HTTPAdapter
import Secrets
import Testing

/// Requests as the server receives them, and successful responses.
@Suite struct ExchangeTests {
  @Test func requestWithBodyAndSecretFields_arrivesAsGiven() async throws {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nX-A:  one \r\nx-a: two\r\nContent-Length: 2\r\n\r\nhi")
    var form = FormBody()
    form.append("refresh_token", Secret(text: "r/1"))
    let request = HTTPRequest(
      method: "POST", url: server.url + "/token?tenant=a",
      fields: [
        .bearer(Secret(text: "at-1")), HTTPField("Content-Type", FormBody.mediaType),
        HTTPField("Accept", "application/json"),
        HTTPField("X-Empty", ""),
      ], body: form.finish())
    let response = try #require(await makeExchange().send(request).response)
    #expect(response.status == 200 && response.text == "hi")
    #expect(response.fields.map(\.name) == ["X-A", "x-a", "Content-Length"])
    #expect(response.fields.map(\.value) == ["one", "two", "2"])
    #expect(response.sentAt < response.receivedAt)
    let lines = try #require(server.requests.first).components(separatedBy: "\r\n")
    #expect(lines.first == "POST /token?tenant=a HTTP/1.1")
    #expect(lines.last == "refresh_token=r%2F1")
    #expect(
      lines.dropFirst().dropLast(2).sorted() == [
        "Accept-Encoding: gzip, deflate", "Accept: application/json", "Authorization: Bearer at-1",
        "Content-Length: 19",
        "Content-Type: application/x-www-form-urlencoded", "Host: 127.0.0.1:\(server.port)", "User-Agent: lanyard/1",
        "X-Empty:",
      ])
    #expect(server.connections == 1 && server.requests.count == 1)
  }

  @Test(arguments: ["GET", "HEAD", "DELETE", "OPTIONS", "PROPFIND"])
  func methodWithoutContent_announcesNoBody(method: String) async throws {
    let server = RawServer(answering: "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")
    let outcome = await makeExchange().send(HTTPRequest(method: method, url: server.url))
    #expect(outcome.summary == "204 ")
    let request = try #require(server.requests.first)
    #expect(request.hasPrefix("\(method) / HTTP/1.1\r\n"))
    #expect(!request.lowercased().contains("content-"))
  }

  @Test(arguments: ["POST", "PUT", "PATCH"])
  func methodThatExpectsContent_sendsContentLengthZeroWithoutABody(method: String) async throws {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    #expect(await makeExchange().send(HTTPRequest(method: method, url: server.url)).summary == "200 ")
    let request = try #require(server.requests.first)
    #expect(request.contains("\r\nContent-Length: 0\r\n") && !request.contains("Content-Type"))
  }

  @Test func headResponseWithAContentLength_hasNoBody() async {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n")
    #expect(await makeExchange().send(HTTPRequest(method: "HEAD", url: server.url)).summary == "200 ")
  }

  @Test func largeBody_isSentWithoutExpectContinue() async throws {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    let text = String(repeating: "0123456789abcdef", count: 40_000)
    let outcome = await makeExchange().send(HTTPRequest(method: "PUT", url: server.url, body: Secret(text: text)))
    #expect(outcome.summary == "200 ")
    let request = try #require(server.requests.first)
    #expect(request.hasSuffix("\r\n\r\n" + text) && !request.contains("Expect"))
  }

  @Test func connectionFieldsOfTheCaller_areDropped() async throws {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    let fields = ["Host", "content-length", "Transfer-Encoding", "Connection", "Expect"].map { HTTPField($0, "evil") }
    #expect(await makeExchange().send(HTTPRequest(method: "GET", url: server.url, fields: fields)).summary == "200 ")
    #expect(try !#require(server.requests.first).contains("evil"))
  }

  @Test(arguments: [
    HTTPField("X-A", "a\r\nX-B: b"), HTTPField("X-A", "a\nb"), HTTPField("X-A", "a\u{0}b"),
    HTTPField("X-A", secret: Secret(text: "a\rb")), HTTPField("X A", "a"), HTTPField("X-A:", "a"), HTTPField("", "a"),
  ])
  func fieldWithALineBreak_isRefused(field: HTTPField) async {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\n\r\n")
    let outcome = await makeExchange().send(HTTPRequest(method: "GET", url: server.url, fields: [field]))
    #expect(outcome.summary == "notConnected other" && server.connections == 0)
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func redirect_isReturnedAndNotFollowed(status: Int) async {
    let target = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    let server = RawServer(
      answering: "HTTP/1.1 \(status) Elsewhere\r\nLocation: \(target.url)/\r\nContent-Length: 0\r\n\r\n")
    let request = HTTPRequest(method: "POST", url: server.url, body: Secret(text: "code=1"))
    #expect(await makeExchange().send(request).summary == "\(status) ")
    #expect(target.connections == 0 && server.connections == 1)
  }

  @Test(arguments: [401, 407, 408, 417, 429, 500, 503])
  func errorStatus_isReturnedWithoutASecondRequest(status: Int) async {
    let server = RawServer(
      answering:
        "HTTP/1.1 \(status) No\r\nWWW-Authenticate: Basic realm=a\r\nRetry-After: 0\r\nContent-Length: 1\r\n\r\n.")
    let request = HTTPRequest(method: "POST", url: server.url, body: Secret(text: "a=b"))
    #expect(await makeExchange().send(request).summary == "\(status) .")
    #expect(server.connections == 1 && server.requests.count == 1)
  }

  @Test func eachRequest_opensItsOwnConnection() async {
    // The server keeps the connection open and would serve a second request on it.
    let server = RawServer { connection in
      while !connection.readRequest().isEmpty { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n.") }
    }
    let exchange = makeExchange()
    for _ in 0..<3 { #expect(await exchange.send(get(server.url)).summary == "200 .") }
    #expect(server.connections == 3)
  }

  @Test func cookies_areNotKept() async {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 0\r\n\r\n")
    let exchange = makeExchange()
    for _ in 0..<2 { #expect(await exchange.send(get(server.url)).summary == "200 ") }
    #expect(server.requests.allSatisfy { !$0.lowercased().contains("cookie") })
  }

  @Test func interimResponsesAndTrailers_areLeftOut() async throws {
    let server = RawServer(
      answering:
        "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n"
        + "3\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: t\r\n\r\n")
    let response = try #require(await makeExchange().send(get(server.url)).response)
    #expect(response.status == 200 && response.text == "abcde")
    #expect(response.fields.map(\.name) == ["Transfer-Encoding", "A"])
  }

  @Test func foldedField_isJoinedToOneLine() async throws {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nA: b\r\n  c\r\nContent-Length: 0\r\n\r\n")
    let response = try #require(await makeExchange().send(get(server.url)).response)
    #expect(response.field("a") == "b c")
  }

  @Test func responseEndedByTheConnection_isComplete() async {
    let server = RawServer(answering: "HTTP/1.0 200 OK\r\n\r\nuntil the end")
    #expect(await makeExchange().send(get(server.url)).summary == "200 until the end")
  }

  @Test func responseSentByteByByte_isComplete() async {
    let server = RawServer { connection in
      connection.readRequest()
      for byte in "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" { connection.send(String(byte)) }
    }
    #expect(await makeExchange().send(get(server.url)).summary == "200 hello")
  }

  @Test func concurrentRequests_getTheirOwnResponses() async {
    let server = RawServer { connection in
      let path = connection.readRequest().split(separator: " ")[1]
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)")
    }
    let exchange = makeExchange()
    let answers = await withTaskGroup(of: (Int, String).self) { group in
      for index in 0..<32 { group.addTask { (index, await exchange.send(get(server.url + "/\(index)")).summary) } }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    #expect(answers == Dictionary(uniqueKeysWithValues: (0..<32).map { ($0, "200 /\($0)") }))
    #expect(server.connections == 32)
  }
}
