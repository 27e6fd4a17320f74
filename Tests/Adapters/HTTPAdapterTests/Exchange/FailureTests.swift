import AgentModel
import AgentPorts
import Glibc
import HTTPAdapter
import Secrets
import Testing

/// Failures before a request was sent, and failures after, are reported apart.
@Suite struct FailureTests {
  // MARK: nothing was sent

  @Test func refusedConnection_isNotConnected() async {
    let (descriptor, port) = RawServer.listen(backlog: 1)
    close(descriptor)
    #expect(await makeExchange().send(get("http://127.0.0.1:\(port)/")).summary == "notConnected refused")
  }

  @Test func unknownHostName_isNotConnected() async {
    #expect(await makeExchange().send(get("https://direct.invalid/")).summary == "notConnected nameNotFound")
  }

  @Test func addressWithoutARoute_isNotConnected() async {
    #expect(await makeExchange().send(get("https://255.255.255.255/")).summary == "notConnected unreachable")
  }

  @Test(arguments: [
    "", "nonsense", "ftp://127.0.0.1/", "file:///etc/passwd", "http://user@127.0.0.1/", "http://127.0.0.1/#a",
    "http://idp.example/", "http://127.1/",
  ])
  func urlUnfitForTokens_isRefused(url: String) async {
    #expect(await makeExchange().send(get(url)).summary == "notConnected invalidURL")
  }

  @Test func connectTimeout_isNotConnected() async {
    let deaf = DeafAddress()
    var request = get(deaf.url)
    request.connectTimeout = Milliseconds(100)
    #expect(await makeExchange().send(request).summary == "notConnected timedOut")
  }

  @Test func proxyFromTheEnvironment_servesRemoteHostsOnly() async {
    let before = ProxyEnvironment.proxy.connections
    #expect(await makeExchange().send(get("https://idp.invalid/")).summary == "notConnected proxyRefused")
    #expect(ProxyEnvironment.proxy.connections == before + 1)
    #expect(ProxyEnvironment.proxy.requests.allSatisfy { $0.hasPrefix("CONNECT idp.invalid:443 ") })
  }

  @Test func proxyOfTheRequest_comesBeforeThatOfTheEnvironment() async {
    let other = RawServer(answering: "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
    var request = get("https://idp.invalid/")
    request.proxy = other.url
    #expect(await makeExchange().send(request).summary == "notConnected proxyRefused")
    #expect(other.connections == 1)
    request.proxy = "none"
    #expect(await makeExchange().send(request).summary == "notConnected nameNotFound")
    let defaults = CurlExchange(clock: CountingClock(), defaults: ConnectionDefaults(proxy: other.url))
    #expect(await defaults.send(get("https://idp.invalid/")).summary == "notConnected proxyRefused")
    #expect(other.connections == 2)
    let loopback = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    #expect(await defaults.send(get(loopback.url)).summary == "200 ")
    #expect(other.connections == 2, "never for loopback")
  }

  /// The environment of these tests excepts `direct.invalid`.
  @Test func enforcedProxy_comesBeforeExceptionsOfTheEnvironment() async {
    _ = ProxyEnvironment.proxy
    let enforced = RawServer(answering: "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
    var defaults = ConnectionDefaults(proxy: enforced.url)
    #expect(
      await CurlExchange(clock: CountingClock(), defaults: defaults).send(get("https://direct.invalid/")).summary
        == "notConnected nameNotFound")
    defaults.enforcesProxy = true
    #expect(
      await CurlExchange(clock: CountingClock(), defaults: defaults).send(get("https://direct.invalid/")).summary
        == "notConnected proxyRefused")
    #expect(enforced.requests.count == 1)
  }

  @Test(
    arguments: [
      (
        "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
        .credentialsMissing
      ), ("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", .status(403)),
      ("HTTP/1.0 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", .status(503)),
      ("HTTP/1.1 302 Found\r\nLocation: http://portal.invalid/\r\nContent-Length: 0\r\n\r\n", .status(302)),
      ("", .other), ("SSH-2.0-OpenSSH\r\n", .other),
    ] as [(String, ProxyFailure.Cause)])
  func proxyThatMakesNoTunnel_isNamedWithWhatItAnswered(answer: String, cause: ProxyFailure.Cause) async {
    let proxy = RawServer(answering: answer)
    var request = HTTPRequest(method: "POST", url: "https://idp.invalid/", body: Secret(text: "a=b"))
    request.proxy = proxy.url
    let outcome = await makeExchange().send(request)
    #expect(outcome.proxyFailure == ProxyFailure(cause, of: proxy.url))
    #expect(proxy.requests.allSatisfy { $0.hasPrefix("CONNECT idp.invalid:443 ") && !$0.contains("a=b") })
  }

  @Test func proxyThatCanNotBeReached_isNamed() async {
    var request = get("https://idp.invalid/")
    let (descriptor, port) = RawServer.listen(backlog: 1)
    close(descriptor)
    for (proxy, cause) in [
      ("http://127.0.0.1:\(port)", ProxyFailure.Cause.refused), ("http://proxy.invalid:3128", .nameNotFound),
      ("http://255.255.255.255:3128", .unreachable), ("socks5h://127.0.0.1:\(port)", .refused),
    ] {
      request.proxy = proxy
      #expect(await makeExchange().send(request).proxyFailure == ProxyFailure(cause, of: proxy))
    }
  }

  /// RFC 1928 §3.
  @Test func socksProxyWithoutAnAcceptableMethod_wantsCredentials() async {
    let proxy = RawServer { connection in
      var greeting = [UInt8](repeating: 0, count: 16)
      _ = read(connection.descriptor, &greeting, greeting.count)
      _ = write(connection.descriptor, [5, 0xFF] as [UInt8], 2)
    }
    var request = get("https://idp.invalid/")
    request.proxy = proxy.url.replacing("http://", with: "socks5h://")
    #expect(await makeExchange().send(request).proxyFailure?.cause == .credentialsMissing)
  }

  /// Only the address without its credentials is told.
  @Test func proxyThatRefusesCredentials_isNamedWithoutThem() async {
    let proxy = RawServer(answering: "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
    let address = proxy.url.replacing("http://", with: "http://alice:secret@")
    let exchange = CurlExchange(clock: CountingClock(), defaults: ConnectionDefaults(proxy: address))
    let failure = await exchange.send(get("https://idp.invalid/")).proxyFailure
    #expect(failure?.cause == .credentialsRefused && failure?.address == proxy.url)
    #expect(failure?.explanation.contains("secret") == false)
    #expect(proxy.requests.allSatisfy { $0.contains("Proxy-Authorization: Basic ") })
  }

  /// The proxy did its part.
  @Test func serverBehindATunnelThatEnds_isNoFailureOfTheProxy() async {
    let proxy = RawServer(answering: "HTTP/1.1 200 Connection established\r\n\r\n")
    var request = get("https://idp.invalid/")
    request.proxy = proxy.url
    #expect(await makeExchange().send(request).summary == "notConnected other")
  }

  // MARK: the request may have arrived

  @Test func connectionClosedWithoutAResponse_isUnknown() async {
    let server = RawServer { $0.readRequest() }
    #expect(await makeExchange().send(get(server.url)).summary == "unknown reset")
    #expect(server.connections == 1, "sent exactly once")
  }

  @Test(arguments: [0, 1]) func connectionClosedBeforeTheRequestWasRead_isUnknown(bytesRead: Int) async {
    let server = RawServer { connection in
      var buffer: UInt8 = 0
      _ = read(connection.descriptor, &buffer, bytesRead)
    }
    let request = HTTPRequest(method: "POST", url: server.url, body: Secret(text: "a=b"))
    #expect(await makeExchange().send(request).summary == "unknown reset")
    #expect(server.connections == 1, "sent exactly once")
  }

  @Test func connectionResetDuringTheResponse_isUnknown() async {
    let server = RawServer { connection in
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
      connection.resetOnClose()
    }
    #expect(await makeExchange().send(get(server.url)).summary == "unknown reset")
  }

  @Test func responseCutShort_isUnknown() async {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
    #expect(await makeExchange().send(get(server.url)).summary == "unknown reset")
  }

  @Test func silentServer_timesOutAsUnknown() async {
    let server = RawServer { connection in
      connection.readRequest()
      connection.waitUntilPeerCloses()
    }
    var request = get(server.url)
    request.timeout = Milliseconds(150)
    #expect(await makeExchange().send(request).summary == "unknown timedOut")
  }

  @Test func endlessResponse_timesOutAsUnknown() async {
    let server = RawServer { connection in
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\n\r\n")
      while connection.send(".") {}
    }
    var request = get(server.url, maximumResponseBytes: 1 << 30)
    request.timeout = Milliseconds(150)
    #expect(await makeExchange().send(request).summary == "unknown timedOut")
  }

  @Test(arguments: [
    "Content-Length: 1001\r\n\r\n", "\r\n", "Transfer-Encoding: chunked\r\n\r\n3e9\r\n",
  ])
  func responseOverTheSizeLimit_isUnknown(head: String) async {
    let body = String(repeating: "x", count: 1001)
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\n" + head + body)
    #expect(await makeExchange().send(get(server.url, maximumResponseBytes: 1000)).summary == "unknown tooLarge")
  }

  @Test func responseAtTheSizeLimit_isReturned() async {
    let body = String(repeating: "x", count: 1000)
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + body)
    #expect(await makeExchange().send(get(server.url, maximumResponseBytes: 1000)).summary == "200 " + body)
    let empty = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    #expect(await makeExchange().send(get(empty.url, maximumResponseBytes: 0)).summary == "200 ")
  }

  @Test func endlessResponseHead_isUnknown() async {
    let server = RawServer { connection in
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\n")
      while connection.send("X-Filler: " + String(repeating: "x", count: 1000) + "\r\n") {}
    }
    #expect(await makeExchange().send(get(server.url)).summary == "unknown tooLarge")
  }

  @Test(arguments: [
    "hello\r\n\r\n", "HTTP/0.9\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\u{0}c\r\n\r\n",
  ])
  func malformedResponse_isUnknown(answer: String) async {
    let server = RawServer(answering: answer)
    #expect(await makeExchange().send(get(server.url)).summary == "unknown malformed")
  }

  // MARK: cancelled

  @Test func requestCancelledBeforeItBegan_isNotConnected() async {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\n\r\n")
    let exchange = makeExchange()
    let gate = Latch()
    let task = Task {
      await gate.wait()
      return await exchange.send(get(server.url)).summary
    }
    task.cancel()
    gate.open()
    #expect(await task.value == "notConnected other")
    #expect(server.requests.isEmpty)
  }

  @Test func requestCancelledWhileConnecting_isNotConnected() async {
    let deaf = DeafAddress()
    let url = deaf.url
    let exchange = makeExchange()
    let task = Task { await exchange.send(get(url)).summary }
    await Task.yield()
    task.cancel()
    #expect(await task.value == "notConnected other")
  }

  @Test func requestCancelledWhileWaiting_isUnknown() async {
    let arrived = Latch()
    let gone = Latch()
    let server = RawServer { connection in
      connection.readRequest()
      arrived.open()
      connection.waitUntilPeerCloses()
      gone.open()
    }
    let exchange = makeExchange()
    let task = Task { await exchange.send(get(server.url)).summary }
    await arrived.wait()
    task.cancel()
    #expect(await task.value == "unknown cancelled")
    await gone.wait()
  }

  @Test func hangingRequest_delaysNoOther() async {
    let arrived = Latch()
    let slow = RawServer { connection in
      connection.readRequest()
      arrived.open()
      connection.waitUntilPeerCloses()
    }
    let quick = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    let exchange = makeExchange()
    let hanging = Task { await exchange.send(get(slow.url)).summary }
    await arrived.wait()
    #expect(await exchange.send(get(quick.url)).summary == "200 ")
    hanging.cancel()
    #expect(await hanging.value == "unknown cancelled")
  }
}
