import AgentModel
import AgentPorts
import Secrets
import Synchronization
import Testing

import HTTPAdapter

/// Requests that begin without a task.
@Suite struct BegunExchangeTests {
  private func request(_ url: String) -> HTTPRequest {
    var request = get(url)
    request.reuse = ConnectionReuse(user: "alice", isRepeatable: true)
    return request
  }

  /// The outcome; nil if the request does not begin.
  private func outcome(
    _ request: HTTPRequest, on exchange: CurlExchange, _ cancellation: Cancellation = Cancellation()
  ) async -> String? {
    await withCheckedContinuation { continuation in
      let hasBegun = exchange.begin(request, cancellation) { continuation.resume(returning: $0.summary) }
      if !hasBegun { continuation.resume(returning: nil) }
    }
  }

  @Test func begunRequest_isAnsweredAndSharesTheConnection() async {
    let server = RawServer { connection in
      while !connection.readRequest().isEmpty { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
    }
    let exchange = makeExchange()
    #expect(await exchange.send(request(server.url)).summary == "200 ok")
    for _ in 0..<3 { #expect(await outcome(request(server.url), on: exchange) == "200 ok") }
    #expect(server.connections == 1)
  }

  @Test func cancellation_endsTheRequest() async {
    let (waits, wait) = AsyncStream<Void>.makeStream()
    let server = RawServer { connection in
      connection.readRequest()
      wait.yield()
      connection.readRequest()  // until the client closes
    }
    let exchange = makeExchange()
    let cancellation = Cancellation()
    async let ended = outcome(request(server.url), on: exchange, cancellation)
    for await _ in waits { break }
    cancellation.cancel()
    #expect(await ended == "unknown cancelled")
  }

  @Test func requestThatIsCancelledBefore_isNotSent() async {
    let server = RawServer { connection in connection.readRequest() }
    let cancellation = Cancellation()
    cancellation.cancel()
    #expect(await outcome(request(server.url), on: makeExchange(), cancellation) == "notConnected other")
    #expect(server.requests.filter { !$0.isEmpty }.isEmpty)
  }

  @Test func requestThatMustWait_doesNotBegin() async {
    let exchange = makeExchange()
    var fresh = request("https://127.0.0.1:1/")
    fresh.reuse = nil
    var asking = request("https://127.0.0.1:1/")
    asking.beforeSending = { true }
    var withAuthorities = request("https://127.0.0.1:1/")
    withAuthorities.certificateAuthorities = "/no/such/file.pem"
    for refused in [fresh, asking, withAuthorities, request("http://idp.example/"), request("nonsense")] {
      #expect(await outcome(refused, on: exchange) == nil)
    }
  }

  @Test func cancellation_callsItsActionOnce() {
    let count = Atomic(0)
    let cancellation = Cancellation()
    cancellation.onCancel { count.add(1, ordering: .relaxed) }
    #expect(!cancellation.isCancelled)
    cancellation.cancel()
    cancellation.cancel()
    #expect(cancellation.isCancelled && count.load(ordering: .relaxed) == 1)
    cancellation.onCancel { count.add(1, ordering: .relaxed) }
    #expect(count.load(ordering: .relaxed) == 2)
  }
}
