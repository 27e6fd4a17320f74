import AgentModel
import CurlTransfers
import Glibc
import StreamingHTTP
import Synchronization
import Testing
import Threads

/// `HTTPClient`: what it sends, how a response is handed on, and that a request is sent at most once.
@Suite struct StreamingTests {
  private static let empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

  @Test func bodyOfTheResponse_isHandedOnWhileItArrives() async {
    let gate = Mutex(false)
    let server = RawServer { connection in
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\ndata: 1\n\n")
      while !gate.withLock({ $0 }) { usleep(1_000) }
      connection.send("data: 2\n\n")
    }
    let seen = await answer(server.url) { piece in
      if piece == "data: 1\n\n" { gate.withLock { $0 = true } }
      return true
    }
    #expect(seen.result == .complete && seen.status == 200 && seen.type == "text/event-stream")
    #expect(seen.pieces == ["data: 1\n\n", "data: 2\n\n"])
  }

  @Test func requestsInARow_shareAConnection() async {
    let server = patientServer()
    let client = HTTPClient()
    for _ in 0..<5 { #expect(await answer(server.url, of: client).pieces == ["1"]) }
    client.closeIdleConnections()
    #expect(await answer(server.url, of: client).pieces == ["2"])
  }

  @Test func requestsAtOnce_haveAConnectionEach() async {
    let server = RawServer { connection in
      connection.readRequest()
      usleep(50_000)
      connection.send(Self.empty)
    }
    let client = HTTPClient()
    await withTaskGroup { group in
      for _ in 0..<8 { group.addTask { await answer(server.url, of: client).result } }
      for await result in group { #expect(result == .complete) }
    }
    #expect(server.connections == 8)
  }

  @Test func keptConnectionThatTheServerClosed_isNotUsed() async {
    let closed = Latch()
    let count = Atomic(0)
    let server = RawServer { connection in
      connection.readRequest()
      connection.send(Self.empty)
      if count.add(1, ordering: .relaxed).newValue == 1 {
        connection.hangUp()
        closed.open()
      }
    }
    let client = HTTPClient()
    #expect(await answer(server.url, of: client).result == .complete)
    await closed.wait()
    #expect(await answer(server.url, of: client).result == .complete)
    #expect(server.connections == 2 && server.requests.filter { !$0.isEmpty }.count == 2)
  }

  @Test func keptConnectionWithAnUnexpectedResponse_isNotUsed() async {
    let answered = Mutex(false)
    let sent = Latch()
    let server = RawServer { connection in
      connection.readRequest()
      connection.send(Self.empty)
      while !answered.withLock({ $0 }) { usleep(1_000) }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")
      sent.open()
      connection.waitUntilPeerCloses()
    }
    let client = HTTPClient()
    #expect(await answer(server.url, of: client).result == .complete)
    answered.withLock { $0 = true }
    await sent.wait()
    let second = await answer(server.url, of: client)
    #expect(second.result == .complete && second.pieces.isEmpty)
    #expect(server.connections == 2)
  }

  @Test func connectionThatEndsAfterTheRequest_isAnUnknownOutcome_andNothingIsSentAgain() async {
    let server = RawServer { connection in
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")
      connection.readRequest()
    }
    let client = HTTPClient()
    #expect(await answer(server.url, of: client).pieces == ["1"])
    let second = await answer(server.url, of: client)
    #expect(second.result == .lost(.reset) && second.status == nil)
    #expect(server.requests.filter { !$0.isEmpty }.count == 2)
  }

  @Test func responseThatIsCut_isLostAfterItsHead() async {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
    let seen = await answer(server.url)
    #expect(seen.result == .lost(.reset) && seen.status == 200 && seen.pieces == ["half"])
  }

  @Test func refusedConnection_isNotSent() async {
    let server = RawServer { _ in }
    server.stop()
    usleep(20_000)
    let (descriptor, port) = RawServer.listen(backlog: 1)
    close(descriptor)
    #expect(await answer("http://127.0.0.1:\(port)").result == .notSent(.notConnected(.refused)))
  }

  @Test(
    "a request that could leave the machine in clear, or a field that would end its line, is not sent",
    arguments: [
      ("http://example.com/", "X", "y"), ("http://127.0.0.1:9/", "X", "a\r\nY: b"), ("http://127.0.0.1:9/", "X:", "y"),
      ("http://127.0.0.1:9/", "X", "a\u{0}b"),
    ])
  func refusedRequests(url: String, name: String, value: String) throws {
    let request = OutgoingRequest("GET", try #require(HTTPURL(url)), fields: [RequestField(name, value)])
    let result = HTTPClient().perform(request, onHead: { _ in true }, onBody: { _ in true })
    #expect(result == .notSent(.invalid))
  }

  @Test func cancellation_endsAWaitingRequestAtOnce() async {
    let received = Latch()
    let server = RawServer { connection in
      connection.readRequest()
      received.open()
      connection.waitUntilPeerCloses()
    }
    let cancellation = HTTPCancellation()
    async let seen = answer(server.url, cancellation: cancellation)
    await received.wait()
    let start = ContinuousClock.now
    cancellation.cancel()
    #expect(await seen.result == .lost(.cancelled))
    #expect(ContinuousClock.now - start < .milliseconds(500))
  }

  @Test func cancelledRequest_thatHasNotBegun_isNotSent() async {
    let server = RawServer(answering: Self.empty)
    let cancellation = HTTPCancellation()
    cancellation.cancel()
    #expect(await answer(server.url, cancellation: cancellation).result == .notSent(.cancelled))
    #expect(server.requests.isEmpty)
  }

  @Test func silentServer_timesOut() async throws {
    let server = RawServer { connection in
      connection.readRequest()
      connection.waitUntilPeerCloses()
    }
    var request = OutgoingRequest("GET", try #require(HTTPURL(server.url)))
    request.headMilliseconds = 50
    #expect(await answer(request, of: HTTPClient()).result == .lost(.timedOut))
  }

  @Test func serverOfInterimResponsesAlone_timesOut() async throws {
    let server = RawServer { connection in
      connection.readRequest()
      // Each comes within the time for a head, and they go on for longer than it.
      for _ in 0..<200 {
        connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        usleep(10_000)
      }
      connection.send(Self.empty)
    }
    var request = OutgoingRequest("GET", try #require(HTTPURL(server.url)))
    request.headMilliseconds = 300
    #expect(await answer(request, of: HTTPClient()).result == .lost(.timedOut))
  }

  @Test func callerThatStops_endsTheRequest() async {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\n\r\nendless")
    #expect(await answer(server.url) { _ in false }.result == .stopped)
  }

  @Test("a body is sent whole, with its length or in chunks", arguments: [true, false])
  func streamedBody(hasLength: Bool) async throws {
    let server = RawServer { connection in
      var text = connection.readRequest()
      while !text.hasSuffix("end") && !text.hasSuffix("0\r\n\r\n") { text += connection.readRequest() }
      connection.send(Self.empty)
    }
    let more = WakeUp()
    let request = OutgoingRequest("POST", try #require(HTTPURL(server.url)))
    let seen = await onThread {
      var pieces = ["begin ", nil, "middle ", nil, "end"]
      let stream = BodyStream(length: hasLength ? 16 : nil, descriptor: more.descriptor) { buffer in
        guard !pieces.isEmpty else { return .end }
        guard let piece = pieces.removeFirst() else {
          more.signal()
          return .later
        }
        buffer.copyBytes(from: piece.utf8)
        return .bytes(piece.utf8.count)
      }
      return perform(request, .stream(stream), HTTPClient())
    }
    #expect(seen.result == .complete && server.connections == 1)
    let sent = server.requests.joined()
    #expect(sent.contains(hasLength ? "begin middle end" : "begin "))
    #expect(sent.lowercased().contains("transfer-encoding: chunked") == !hasLength)
    #expect(sent.contains("Content-Length: 16") == hasLength && !sent.contains("Expect"))
  }

  @Test func secretField_isSent() async throws {
    let server = RawServer(answering: Self.empty)
    let request = OutgoingRequest(
      "POST", try #require(HTTPURL(server.url)),
      fields: [
        RequestField("Authorization", secret: WipedBytes("Bearer abc")), RequestField("Content-Length", "7"),
        RequestField("Host", "other"),
      ])
    #expect(await answer(request, of: HTTPClient()).result == .complete)
    let sent = try #require(server.requests.first)
    #expect(sent.contains("Authorization: Bearer abc\r\n") && sent.contains("Content-Length: 0\r\n"))
    #expect(!sent.contains("Host: other") && !sent.contains("Accept:"))
  }

  @Test func certificateOfAnUnknownAuthority_isRefused_andAnsweredWithItsAuthority() async throws {
    let identity = try TLSIdentity.localhost.get()
    let server = try TLSServer(identity)
    #expect(await answer(server.url).result == .notSent(.untrusted(.unknownAuthority)))
    var settings = HTTPClientSettings()
    settings.trust.authorities.file = identity.certificate
    #expect(await answer(server.url + "/path", of: HTTPClient(settings)).pieces == ["/path"])
    #expect(server.requests == 1)
  }

  @Test func keyThatIsNotPinned_isRefused() async throws {
    let identity = try TLSIdentity.localhost.get()
    let server = try TLSServer(identity)
    var settings = HTTPClientSettings()
    settings.trust = TrustSettings(
      authorities: CertificateAuthorities(file: identity.certificate), pins: [identity.pin])
    #expect(await answer(server.url, of: HTTPClient(settings)).result == .complete)
    for pins in [["sha256/" + String(repeating: "A", count: 43) + "="], ["nonsense"]] {
      settings.trust.pins = pins
      #expect(await answer(server.url, of: HTTPClient(settings)).result == .notSent(.untrusted(.pinMismatch)))
    }
    settings.trust.pins = [identity.pin]
    let plain = RawServer(answering: Self.empty)
    #expect(await answer(plain.url, of: HTTPClient(settings)).result == .notSent(.untrusted(.pinMismatch)))
    #expect(server.requests == 1 && plain.connections == 0)
  }

  @Test func hostThatNeedsNoProxy_isReachedWithoutIt() async {
    let proxy = RawServer(answering: "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
    var settings = HTTPClientSettings()
    settings.trust = TrustSettings(proxy: proxy.url, noProxy: ["idp.invalid"])
    let refused = HTTPResult.NotSent.notConnected(.proxy(ProxyFailure(.status(502), of: proxy.url)))
    #expect(await answer("https://other.invalid/", of: HTTPClient(settings)).result == .notSent(refused))
    #expect(proxy.connections == 1)
    #expect(
      await answer("https://idp.invalid/", of: HTTPClient(settings)).result == .notSent(.notConnected(.nameNotFound)))
    #expect(proxy.connections == 1)
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
}

/// What came of a request.
private struct Seen: Sendable {
  var result = HTTPResult.notSent(.notConnected(.other))
  var status: Int?
  var type: String?
  var pieces: [String] = []
}

private func answer(
  _ url: String, of client: HTTPClient = HTTPClient(), cancellation: HTTPCancellation? = nil,
  onPiece: @escaping @Sendable (String) -> Bool = { _ in true }
) async -> Seen {
  await answer(
    OutgoingRequest("GET", HTTPURL(url)!), of: client, cancellation: cancellation, onPiece: onPiece)
}

private func answer(
  _ request: OutgoingRequest, of client: HTTPClient, cancellation: HTTPCancellation? = nil,
  onPiece: @escaping @Sendable (String) -> Bool = { _ in true }
) async -> Seen {
  await onThread { perform(request, .none, client, cancellation, onPiece) }
}

private func perform(
  _ request: OutgoingRequest, _ body: RequestBody, _ client: HTTPClient, _ cancellation: HTTPCancellation? = nil,
  _ onPiece: @Sendable (String) -> Bool = { _ in true }
) -> Seen {
  var seen = Seen()
  seen.result = client.perform(request, body: body, cancellation: cancellation) { head in
    (seen.status, seen.type) = (head.status, head.mediaType)
    return true
  } onBody: { bytes in
    let piece = String(decoding: bytes, as: UTF8.self)
    seen.pieces.append(piece)
    return onPiece(piece)
  }
  return seen
}

/// Runs `body`, which waits, on a thread of its own.
private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
  await withCheckedContinuation { continuation in
    let isStarted = DetachedThread.start { continuation.resume(returning: body()) }
    precondition(isStarted)
  }
}
