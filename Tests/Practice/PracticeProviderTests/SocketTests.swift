import Foundation
import LoopbackHTTP
import PracticeProvider
import Synchronization
import Testing

/// The provider over real sockets. Tests wait on the clock only where a delay is the subject.
@Suite struct SocketTests {
  private func echo(port: UInt16 = 0, host: String = "127.0.0.1") throws -> LoopbackListener {
    try LoopbackListener(host: host, port: port, maximumBodyBytes: 1000) { request in
      .respond(.text("\(request.method) \(request.path) \(request.body.count)"))
    }
  }

  private func exchange(_ text: String, port: UInt16) throws -> String {
    let client = try Client(port: port)
    try client.send(text)
    return client.readToEnd()
  }

  private let get = "GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

  @Test func request_isAnsweredAndTheConnectionClosed() throws {
    let listener = try echo()
    defer { listener.stop() }
    let answer = try exchange(get, port: listener.port)
    #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(answer.contains("Connection: close\r\n"))
    #expect(answer.hasSuffix("\r\n\r\nGET /hello 0"))
  }

  @Test func requestSentByteByByte_isAnswered() throws {
    let listener = try echo()
    defer { listener.stop() }
    let client = try Client(port: listener.port)
    for byte in "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nok".utf8 { try client.send([byte]) }
    #expect(client.readToEnd().hasSuffix("POST /x 2"))
  }

  /// A browser sends the cookies of all programs of this machine to each port.
  @Test func pageThatSendsTheBrowserOn_takesCookiesOf20KB() throws {
    let page = try ForwardingPage(to: "https://idp.test/authorize")
    defer { page.close() }
    let address = try #require(URLComponents(string: page.url))
    let port = try #require(address.port.flatMap { UInt16(exactly: $0) })
    let cookies = String(repeating: "session=0123456789abcdef; ", count: 800)
    let head = "GET \(address.path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nCookie: \(cookies)\r\n\r\n"
    #expect(try exchange(head, port: port).hasPrefix("HTTP/1.1 303 "))
  }

  @Test func headOverTheLimit_isAnsweredWith431() throws {
    let listener = try echo()
    defer { listener.stop() }
    let long = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + String(repeating: "x", count: 70_000) + "\r\n\r\n"
    #expect(try exchange(long, port: listener.port).hasPrefix("HTTP/1.1 431 "))
  }

  @Test func bodyOverTheLimit_isAnsweredWith413() throws {
    let listener = try echo()
    defer { listener.stop() }
    let body = String(repeating: "x", count: 200_000)
    let post = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 200000\r\n\r\n\(body)"
    #expect(try exchange(post, port: listener.port).hasPrefix("HTTP/1.1 413 "))
  }

  @Test func headRequest_getsNoBody() throws {
    let listener = try echo()
    defer { listener.stop() }
    let answer = try exchange("HEAD /h HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", port: listener.port)
    #expect(answer.contains("Content-Length: 9\r\n"))
    #expect(answer.hasSuffix("\r\n\r\n"))
  }

  @Test func busyPort_isReported() throws {
    let listener = try echo()
    defer { listener.stop() }
    let port = listener.port
    #expect(throws: LoopbackError.portBusy(port)) { try self.echo(port: port) }
    #expect(throws: LoopbackError.portBusy(port)) { try self.echo(port: port, host: "localhost") }
  }

  @Test func stoppedListener_freesItsPortAtOnce() throws {
    let first = try echo()
    let port = first.port
    #expect(try exchange(get, port: port).hasPrefix("HTTP/1.1 200"))
    first.stop()
    let second = try echo(port: port)
    defer { second.stop() }
    #expect(try exchange(get, port: port).hasPrefix("HTTP/1.1 200"))
  }

  @Test func hostThatIsNotLoopback_isNotListenedOn() {
    for host in ["0.0.0.0", "::", "192.168.1.1", "example.com", ""] {
      #expect(throws: LoopbackError.notLoopback(host: host)) { try self.echo(host: host) }
    }
  }

  @Test func localhost_isServedOnIPv4AndIPv6() throws {
    let listener = try echo(host: "localhost")
    defer { listener.stop() }
    #expect(try exchange(get, port: listener.port).hasPrefix("HTTP/1.1 200"))
    if let client = try? Client(port: listener.port, isV6: true) {
      try client.send("GET /six HTTP/1.1\r\nHost: [::1]\r\n\r\n")
      #expect(client.readToEnd().hasSuffix("GET /six 0"))
    }
  }

  @Test func stop_endsSilentAndHangingConnections() throws {
    let reached = DispatchSemaphore(value: 0)
    let listener = try LoopbackListener(host: "127.0.0.1", port: 0, maximumBodyBytes: 10) { request in
      reached.signal()
      return request.path == "/hang" ? .hang : .respond(.text("late"), delayMilliseconds: 600_000)
    }
    let silent = try Client(port: listener.port)
    let hanging = try Client(port: listener.port)
    let delayed = try Client(port: listener.port)
    try hanging.send("GET /hang HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    try delayed.send("GET /late HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    reached.wait()
    reached.wait()
    listener.stop()
    #expect(silent.readToEnd().isEmpty)
    #expect(hanging.readToEnd().isEmpty)
    #expect(delayed.readToEnd().isEmpty)
  }

  @Test func handlerThatStopsItsListener_stillAnswers() throws {
    let box = Mutex<LoopbackListener?>(nil)
    let listener = try LoopbackListener(host: "127.0.0.1", port: 0, maximumBodyBytes: 10) { _ in
      box.withLock { $0 }?.stop()
      return .respond(.text("You may close this window."))
    }
    box.withLock { $0 = listener }
    let answer = try exchange(get, port: listener.port)
    #expect(answer.hasSuffix("You may close this window."))
    box.withLock { $0 = nil }
    #expect(throws: (any Error).self) { try Client(port: listener.port) }
  }

  @Test func severalHandlersThatStopTheirListener_allAnswer() throws {
    let box = Mutex<LoopbackListener?>(nil)
    let reached = DispatchSemaphore(value: 0)
    let go = DispatchSemaphore(value: 0)
    let listener = try LoopbackListener(host: "127.0.0.1", port: 0, maximumBodyBytes: 10) { _ in
      let listener = box.withLock { $0 }
      reached.signal()
      go.wait()
      listener?.stop()
      return .respond(.text("stopped"))
    }
    box.withLock { $0 = listener }
    let clients = try (0..<4).map { _ in try Client(port: listener.port) }
    for client in clients {
      try client.send(get)
      reached.wait()
    }
    for _ in clients { go.signal() }
    for client in clients { #expect(client.readToEnd().hasSuffix("stopped")) }
    listener.stop()
    box.withLock { $0 = nil }
  }

  @Test func connectionsOverTheLimit_areAnsweredWith503() throws {
    let listener = try LoopbackListener(host: "127.0.0.1", port: 0, maximumBodyBytes: 10) { _ in .hang }
    defer { listener.stop() }
    let held = try (0..<LoopbackListener.maximumConnections).map { _ in try Client(port: listener.port) }
    let beyond = try Client(port: listener.port)
    #expect(beyond.readToEnd().hasPrefix("HTTP/1.1 503 "))
    #expect(held.count == LoopbackListener.maximumConnections)
  }

  @Test func refusalOfTheListener_hasTheHeadersThatItWasGiven() throws {
    let listener = try LoopbackListener(
      host: "127.0.0.1", port: 0, maximumBodyBytes: 10, refusalHeaders: [("Cache-Control", "no-store")]
    ) { _ in .respond(.text("fine")) }
    defer { listener.stop() }
    let host = "Host: 127.0.0.1\r\n"
    let refused = [
      421: "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 400: "GET  / HTTP/1.1\r\n\(host)\r\n",
      411: "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n",
      413: "POST / HTTP/1.1\r\n\(host)Content-Length: 11\r\n\r\n", 505: "GET / HTTP/2.0\r\n\(host)\r\n",
      431: "GET / HTTP/1.1\r\n\(host)X: " + String(repeating: "x", count: 70_000) + "\r\n\r\n",
    ]
    for (status, request) in refused {
      let answer = try exchange(request, port: listener.port)
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
      #expect(answer.contains("\r\nCache-Control: no-store\r\n"))
    }
    #expect(try !exchange(get, port: listener.port).contains("Cache-Control"), "the handler's answers have its own")
    let held = try (0..<LoopbackListener.maximumConnections).map { _ in try Client(port: listener.port) }
    let busy = try Client(port: listener.port).readToEnd()
    #expect(busy.hasPrefix("HTTP/1.1 503 ") && busy.contains("\r\nCache-Control: no-store\r\n"))
    #expect(held.count == LoopbackListener.maximumConnections)
  }

  @Test func connectionOfRoot_isReadOnlyWhereRootIsAdmitted() {
    let (everyUser, withRoot) = (AdmittedPeers.everyUser, AdmittedPeers.thisUserAndRoot(onForeign: {}))
    let alone = AdmittedPeers.thisUser(onForeign: {})
    #expect([everyUser, withRoot, alone].map { $0.admits(1000, own: 1000) } == [true, true, true])
    #expect([everyUser, withRoot, alone].map { $0.admits(0, own: 1000) } == [true, true, false])
    #expect([everyUser, withRoot, alone].map { $0.admits(1001, own: 1000) } == [true, false, false])
    #expect([everyUser, withRoot, alone].map { $0.admits(nil, own: 1000) } == [true, false, false])
    #expect(alone.admits(0, own: 0))
  }

  @Test func peerLeavingDuringAnEndlessBody_harmsNoOtherClient() throws {
    let listener = try LoopbackListener(host: "127.0.0.1", port: 0, maximumBodyBytes: 10) { request in
      request.path == "/endless" ? .endlessBody(HTTPResponse(status: 200)) : .respond(.text("fine"))
    }
    defer { listener.stop() }
    do {
      let client = try Client(port: listener.port)
      try client.send("GET /endless HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      #expect(client.read(atLeast: 500_000).count >= 500_000)
    }
    #expect(try exchange(get, port: listener.port).hasSuffix("fine"))
  }

  @Test func stream_isSentPieceByPieceAndEndsWithItsClosure() throws {
    let listener = try LoopbackListener(host: "127.0.0.1", port: 0, maximumBodyBytes: 0) { _ in
      .stream(HTTPResponse(status: 200, headers: [("Content-Type", "text/event-stream")], body: [])) { stream in
        for piece in ["one ", "two ", "three"] {
          let isSent = stream.send(Array(piece.utf8))
          #expect(isSent)
        }
        let wakeup = stream.wait(for: -1, milliseconds: 1)
        #expect(wakeup == .timedOut)
      }
    }
    defer { listener.stop() }
    let answer = try exchange(get, port: listener.port)
    #expect(answer.contains("Content-Type: text/event-stream\r\n"))
    #expect(!answer.contains("Content-Length"))
    #expect(answer.hasSuffix("\r\n\r\none two three"))
    let head = try exchange("HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", port: listener.port)
    #expect(head.hasSuffix("\r\n\r\n"))
  }

  @Test func waitingStream_endsWithItsListener() throws {
    let ended = Mutex<HTTPStream.Wakeup?>(nil)
    let reached = DispatchSemaphore(value: 0)
    let listener = try LoopbackListener(host: "127.0.0.1", port: 0, maximumBodyBytes: 0) { _ in
      .stream(HTTPResponse(status: 200)) { stream in
        reached.signal()
        let wakeup = stream.wait(for: -1)
        ended.withLock { $0 = wakeup }
      }
    }
    let client = try Client(port: listener.port)
    try client.send(get)
    reached.wait()
    listener.stop()
    #expect(ended.withLock { $0 } == .ended)
  }

  @Test func lineBreakInAHeaderValue_isReplaced() throws {
    let listener = try LoopbackListener(host: "127.0.0.1", port: 0, maximumBodyBytes: 10) { _ in
      .respond(HTTPResponse(status: 302, headers: [("Location", "/a\r\nSet-Cookie: evil=1")]))
    }
    defer { listener.stop() }
    let answer = try exchange(get, port: listener.port)
    #expect(answer.contains("Location: /a  Set-Cookie: evil=1\r\n"))
  }

  // MARK: the provider behind the listener

  @Test func practiceServer_servesItsIssuer() throws {
    let server = try PracticeServer(path: "/realms/acme")
    defer { server.stop() }
    #expect(server.issuer == "http://127.0.0.1:\(server.port)/realms/acme")
    let answer = try exchange(
      "GET /realms/acme/.well-known/openid-configuration HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n\r\n",
      port: server.port
    )
    #expect(answer.contains("\"issuer\":\"\(server.issuer)\""))
    #expect(answer.contains("\r\nDate: "))
  }

  @Test func lostAnswer_hasRotatedTheToken() throws {
    let server = try PracticeServer()
    defer { server.stop() }
    let tokens = try server.provider.signIn(user: "alice")
    server.provider.enqueueFault("/token", Fault(.dropAfterProcessing))
    let refresh = { () throws -> String in
      let form = "grant_type=refresh_token&client_id=lanyard-demo&refresh_token=\(tokens.refreshToken ?? "")"
      return try self.exchange(
        "POST /token HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
          + "Content-Length: \(form.utf8.count)\r\n\r\n\(form)",
        port: server.port
      )
    }
    #expect(try refresh().isEmpty)
    #expect(!server.provider.isActive(refreshToken: tokens.refreshToken ?? ""))
    #expect(server.provider.activeRefreshTokens(user: "alice").count == 1)
    #expect(try refresh().contains("invalid_grant"))
  }

  @Test func concurrentClients_getTheirOwnAnswers() async throws {
    let server = try PracticeServer()
    defer { server.stop() }
    let statuses = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<40 {
        group.addTask { try self.exchange("GET /jwks HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", port: server.port) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses.allSatisfy { $0.hasPrefix("HTTP/1.1 200") && $0.hasSuffix("}]}") })
    #expect(server.provider.requestCount(to: "/jwks") == 40)
  }
}
