import AgentModel
import AgentPorts
import Foundation
import Secrets
import Synchronization
import Testing

import HTTPAdapter

/// Requests with `reuse`: which connections they share, and what happens when a kept one ends.
@Suite struct KeptConnectionTests {
  private static let empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

  private func read(_ url: String, of user: String = "alice") -> HTTPRequest {
    var request = get(url)
    request.reuse = ConnectionReuse(user: user, isRepeatable: true)
    return request
  }

  private func write(_ url: String, of user: String = "alice") -> HTTPRequest {
    var request = HTTPRequest(method: "POST", url: url, body: Secret(text: "amount=1"))
    request.reuse = ConnectionReuse(user: user, isRepeatable: false)
    return request
  }

  /// Answers every request with the number of its connection.
  private func patientServer() -> RawServer {
    let count = Atomic(0)
    return RawServer { connection in
      let number = count.add(1, ordering: .relaxed).newValue
      while !connection.readRequest().isEmpty {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: \("\(number)".count)\r\n\r\n\(number)")
      }
    }
  }

  /// Answers the first request of its first connection and treats the second as `then` says; answers all requests of
  /// later connections.
  private func server(then: @escaping @Sendable (RawServer.Connection) -> Void) -> RawServer {
    let count = Atomic(0)
    return RawServer { connection in
      let isFirst = count.add(1, ordering: .relaxed).newValue == 1
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")
      guard !isFirst else { return then(connection) }
      while !connection.readRequest().isEmpty { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2") }
    }
  }

  @Test func requestsOfOneUser_shareAConnection() async {
    let server = patientServer()
    let exchange = makeExchange()
    for _ in 0..<5 { #expect(await exchange.send(read(server.url)).summary == "200 1") }
    #expect(await exchange.send(write(server.url)).summary == "200 1")
    #expect(server.connections == 1 && server.requests.filter { !$0.isEmpty }.count == 6)
  }

  @Test(
    "a response with two different lengths is refused, and its connection is not used again (RFC 9112 §6.3)",
    arguments: [
      ("Content-Length: 1\r\nContent-Length: 2", "unknown malformed"),
      ("Content-Length: 2\r\nX: y\r\ncontent-length: 1", "unknown malformed"),
      ("Content-Length: 2\r\nContent-Length: 2", "200 12"),
    ])
  func twoLengths(fields: String, summary: String) async {
    let server = RawServer { connection in
      while !connection.readRequest().isEmpty { connection.send("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n12") }
    }
    let exchange = makeExchange()
    #expect(await exchange.send(read(server.url)).summary == summary)
    #expect(await exchange.send(read(server.url)).summary == summary)
    #expect(server.connections == (summary == "200 12" ? 1 : 2))
  }

  @Test func requestsOfDifferentUsers_haveConnectionsOfTheirOwn() async {
    let server = patientServer()
    let exchange = makeExchange()
    for _ in 0..<2 {
      #expect(await exchange.send(read(server.url)).summary == "200 1")
      #expect(await exchange.send(read(server.url, of: "bob")).summary == "200 2")
    }
    #expect(await exchange.send(get(server.url)).summary == "200 3")
    #expect(await exchange.send(get(server.url)).summary == "200 4")
  }

  @Test func requestsWithOtherAuthorities_haveAConnectionOfTheirOwn() async throws {
    let server = patientServer()
    let exchange = makeExchange()
    var other = read(server.url)
    other.certificateAuthorities = try TLSIdentity.localhost.get().certificate
    #expect(await exchange.send(read(server.url)).summary == "200 1")
    #expect(await exchange.send(other).summary == "200 2")
    #expect(await exchange.send(read(server.url)).summary == "200 1")
    #expect(await exchange.send(other).summary == "200 2")
  }

  @Test func closedConnections_areNotUsedAgain() async {
    let server = patientServer()
    let exchange = makeExchange()
    #expect(await exchange.send(read(server.url)).summary == "200 1")
    #expect(await exchange.send(read(server.url, of: "bob")).summary == "200 2")
    exchange.closeConnections(of: "alice")
    #expect(await exchange.send(read(server.url)).summary == "200 3")
    #expect(await exchange.send(read(server.url, of: "bob")).summary == "200 2")
    exchange.closeConnections(of: nil)
    #expect(await exchange.send(read(server.url)).summary == "200 4")
    #expect(await exchange.send(read(server.url, of: "bob")).summary == "200 5")
  }

  @Test func closingConnections_closesTheIdleOneAtOnce() async {
    let closed = Latch()
    let server = RawServer { connection in
      connection.readRequest()
      connection.send(Self.empty)
      connection.waitUntilPeerCloses()
      closed.open()
    }
    let exchange = makeExchange()
    #expect(await exchange.send(read(server.url)).summary == "200 ")
    exchange.closeConnections(of: "alice")
    await closed.wait()
  }

  @Test func closingConnections_letsARequestInFlightEnd() async {
    let (arrived, mayAnswer) = (Latch(), DispatchSemaphore(value: 0))
    let closed = Latch()
    let server = RawServer { connection in
      connection.readRequest()
      arrived.open()
      mayAnswer.wait()
      connection.send(Self.empty)
      connection.waitUntilPeerCloses()
      closed.open()
    }
    let exchange = makeExchange()
    let (url, request) = (server.url, read(server.url))
    async let outcome = exchange.send(request)
    await arrived.wait()
    exchange.closeConnections(of: nil)
    mayAnswer.signal()
    #expect(await outcome.summary == "200 ")
    await closed.wait()
    #expect(url == server.url && server.connections == 1)
  }

  @Test func idleConnection_isClosedAfterAWhile() async {
    let closed = Latch()
    let server = RawServer { connection in
      connection.readRequest()
      connection.send(Self.empty)
      connection.waitUntilPeerCloses()
      closed.open()
    }
    _ = makeExchange()
    let exchange = CurlExchange(clock: CountingClock(), lingerMilliseconds: 0, keepingMilliseconds: 50)
    #expect(await exchange.send(read(server.url)).summary == "200 ")
    await closed.wait()
  }

  @Test func keptConnection_wakesNoThread() async throws {
    let clock = CountingClock()
    let server = patientServer()
    let exchange = makeExchange(clock: clock)
    for _ in 0..<2 { #expect(await exchange.send(read(server.url)).summary == "200 1") }
    let thread = try #require(clock.threads.last)
    try await Task.sleep(for: .milliseconds(300))
    let before = try #require(IdleTests.sleeps(of: thread))
    try await Task.sleep(for: .milliseconds(700))
    #expect(IdleTests.sleeps(of: thread) == before)
  }

  @Test func moreUsersThanLoops_areServed() async {
    let server = patientServer()
    let exchange = makeExchange()
    let users = (0..<KeptConnections.maximumLoops + 4).map { "user\($0)" }
    for user in users { #expect(await exchange.send(read(server.url, of: user)).summary.hasPrefix("200 ")) }
    #expect(server.connections == users.count)
    // The last ones are still kept.
    #expect(await exchange.send(read(server.url, of: users.last!)).summary == "200 \(users.count)")
  }

  @Test func concurrentRequests_getTheirOwnResponses() async {
    let server = RawServer { connection in
      while true {
        let request = connection.readRequest()
        guard !request.isEmpty else { return }
        let path = request.split(separator: " ")[1]
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)")
      }
    }
    let exchange = makeExchange()
    let url = server.url
    for _ in 0..<4 {
      let answers = await withTaskGroup(of: (Int, String).self) { group in
        for index in 0..<32 {
          group.addTask { (index, await exchange.send(read(url + "/\(index)")).summary) }
        }
        return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
      #expect(answers == Dictionary(uniqueKeysWithValues: (0..<32).map { ($0, "200 /\($0)") }))
    }
  }

  // MARK: a kept connection that ends

  @Test(arguments: [false, true])
  func connectionClosedMeanwhile_isReplaced(isReset: Bool) async throws {
    let closed = Latch()
    let server = server { connection in
      if isReset { connection.resetOnClose() }
      connection.hangUp()
      closed.open()
    }
    let exchange = makeExchange()
    #expect(await exchange.send(read(server.url)).summary == "200 1")
    await closed.wait()
    #expect(await exchange.send(write(server.url)).summary == "200 1")
    #expect(server.connections == 2)
  }

  @Test func readThatAKeptConnectionSwallows_isSentOnceMore() async {
    let server = server { $0.readRequest() }
    let exchange = makeExchange()
    #expect(await exchange.send(read(server.url)).summary == "200 1")
    #expect(await exchange.send(read(server.url)).summary == "200 1")
    #expect(server.connections == 2 && server.requests.filter { $0.hasPrefix("GET") }.count == 3)
  }

  /// libcurl by itself sends it again: see `Curl_retry_request`.
  @Test(arguments: [false, true])
  func writeThatAKeptConnectionSwallows_isNeverSentAgain(isReset: Bool) async {
    let server = server { connection in
      connection.readRequest()
      if isReset { connection.resetOnClose() }
    }
    let exchange = makeExchange()
    #expect(await exchange.send(read(server.url)).summary == "200 1")
    #expect(await exchange.send(write(server.url)).summary == "unknown reset")
    #expect(server.requests.filter { $0.hasPrefix("POST") }.count == 1)
  }

  @Test func writeThatANewConnectionSwallows_isNeverSentAgain() async {
    let server = RawServer { $0.readRequest() }
    #expect(await makeExchange().send(write(server.url)).summary == "unknown reset")
    #expect(server.requests.filter { $0.hasPrefix("POST") }.count == 1)
  }

  @Test func readThatEveryConnectionSwallows_isSentTwiceAtMost() async {
    let count = Atomic(0)
    let server = RawServer { connection in
      let isFirst = count.add(1, ordering: .relaxed).newValue == 1
      connection.readRequest()
      guard isFirst else { return }
      connection.send(Self.empty)
      connection.readRequest()
    }
    let exchange = makeExchange()
    #expect(await exchange.send(read(server.url)).summary == "200 ")
    #expect(await exchange.send(read(server.url)).summary == "unknown reset")
    #expect(server.requests.filter { $0.hasPrefix("GET") }.count == 3)
  }

  @Test func responseCutOnAKeptConnection_isNotAskedForAgain() async {
    let server = server { connection in
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
    }
    let exchange = makeExchange()
    #expect(await exchange.send(read(server.url)).summary == "200 1")
    #expect(await exchange.send(read(server.url)).summary == "unknown reset")
    #expect(server.connections == 1)
  }

  // MARK: a server that says more than it was asked

  @Test func secondResponseToARequest_isNotTakenForTheNext() async {
    let sent = Latch()
    let server = server { connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
      sent.open()
      connection.waitUntilPeerCloses()
    }
    let exchange = makeExchange()
    #expect(await exchange.send(read(server.url)).summary == "200 1")
    await sent.wait()
    #expect(await exchange.send(write(server.url)).summary == "200 1")
    #expect(server.connections == 2)
  }

  @Test(arguments: ["HEAD", "GET"])
  func bytesAfterAResponse_areNotTakenForTheNext(method: String) async {
    let count = Atomic(0)
    let server = RawServer { connection in
      let isFirst = count.add(1, ordering: .relaxed).newValue == 1
      while !connection.readRequest().isEmpty {
        let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" + (isFirst ? evil : ""))
      }
    }
    let exchange = makeExchange()
    var first = read(server.url)
    first.method = method
    for request in [first, read(server.url), read(server.url)] {
      #expect(await exchange.send(request).summary == "200 ")
    }
  }

  @Test func cancelledRequest_closesItsConnection() async {
    let (arrived, closed) = (Latch(), Latch())
    let server = server { connection in
      connection.readRequest()
      arrived.open()
      connection.waitUntilPeerCloses()
      closed.open()
    }
    let exchange = makeExchange()
    #expect(await exchange.send(read(server.url)).summary == "200 1")
    let request = write(server.url)
    let task = Task { await exchange.send(request).summary }
    await arrived.wait()
    task.cancel()
    #expect(await task.value == "unknown cancelled")
    await closed.wait()
    #expect(await exchange.send(read(server.url)).summary == "200 1")
    #expect(server.connections == 2)
  }
}
