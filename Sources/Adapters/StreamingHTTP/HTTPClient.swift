internal import AgentModel
internal import CCurl
internal import Glibc
internal import Threads

/// Sends requests on libcurl and hands on their responses while they arrive. For programs beside the agent: one thread
/// a request, and the thread that calls `perform` is that thread.
///
/// Sends each request at most once. libcurl would send again in three cases: after a `417` (`Expect` is never sent),
/// after a `401` with credentials of its own (libcurl is given none), and after a kept connection that ended without a
/// byte of a response, which `Exchange.aboutToSend` forbids. A kept connection that its server has closed, or on which
/// bytes wait, is left before anything is sent.
///
/// The request alone decides what is sent: no redirects, cookies, `.netrc`, HSTS or `Alt-Svc` store, no decoding of
/// bodies. `http` is allowed for loopback only. TLS 1.2 or later, always verified.
public final class HTTPClient: Sendable {
  /// What holds for all requests.
  public let settings: HTTPClientSettings
  private let lanes: LanePool

  /// A client that has no connection yet.
  public init(_ settings: HTTPClientSettings = HTTPClientSettings()) {
    self.settings = settings
    lanes = LanePool(
      maximumCount: settings.maximumIdleConnections, longestIdleSeconds: settings.longestIdleSeconds)
  }

  /// Sends a request and waits for the end of its response.
  ///
  /// - Parameters:
  ///   - onHead: called once, with the final head; false ends the request (`.stopped`).
  ///   - onBody: called with each piece of the body, as it was sent; false ends the request. While it runs, nothing more is
  ///     read from the server.
  ///   - cancellation: ends the request from another thread, within milliseconds where no callback runs.
  public func perform(
    _ request: OutgoingRequest, body: RequestBody = .none, cancellation: HTTPCancellation? = nil,
    onHead: (ReceivedHead) -> Bool, onBody: (UnsafeRawBufferPointer) -> Bool
  ) -> HTTPResult {
    guard request.url.scheme == .https || request.url.isLoopback, FieldSyntax.isToken(request.method),
      request.method != "CONNECT", let headers = HeaderList(request.fields)
    else { return .notSent(.invalid) }
    let body = Self.hasBody(request.method) ? Self.withLength(body) : body
    return withoutActuallyEscaping(onHead) { onHead in
      withoutActuallyEscaping(onBody) { onBody in
        perform(Exchange(request, body, headers, .init(onHead: onHead, onBody: onBody), cancellation), cancellation)
      }
    }
  }

  /// Closes the connections that no request uses.
  public func closeIdleConnections() { lanes.close() }

  /// All threads together use so many heaps, instead of one each that keeps the memory of its largest body. For a program
  /// with many threads, at its start.
  public static func limitHeaps(to count: Int32) { ccurl_limit_heaps(count) }

  /// Returns free heap memory to the system, and the pages of libcurl that equal its file.
  public static func giveMemoryBack() { if ccurl_open() { ccurl_give_memory_back() } }

  /// RFC 9110 §8.6: a method that anticipates content sends its length even if that is 0.
  private static func withLength(_ body: RequestBody) -> RequestBody {
    if case .none = body { .bytes(WipedBytes()) } else { body }
  }

  private static func hasBody(_ method: String) -> Bool { ["POST", "PUT", "PATCH"].contains(method) }

  private func perform(_ exchange: Exchange, _ cancellation: HTTPCancellation?) -> HTTPResult {
    guard !exchange.isCancelled else { return .notSent(.cancelled) }
    guard let lane = lanes.take(LaneKey(origin: exchange.request.url.origin)) else { return .notSent(.noLibrary) }
    cancellation?.attach(lane.wakeUp)
    defer {
      cancellation?.attach(nil)
      lane.wakeUp.clear()
      lanes.putBack(lane)
      if exchange.headers.hasSecret { wipeStack(.libraries) }
    }
    var mayReuse = true
    while true {
      guard let handle = ExchangeHandle(exchange, settings, mayReuse: mayReuse) else { return .notSent(.other) }
      exchange.begin(on: lane, handle.easy)
      guard ccurl_multi_add_handle(lane.multi, handle.easy) == CURLM_OK else { return .notSent(.other) }
      let code = run(exchange, handle, lane)
      let failure = handle.failure(code)
      if failure == nil { lane.isHTTP2 = handle.isHTTP2 }
      _ = ccurl_multi_remove_handle(lane.multi, handle.easy)
      // Nothing was sent, so that it is sent only once.
      if code == CURLE_ABORTED_BY_CALLBACK, exchange.needsNewConnection, !exchange.isCancelled, mayReuse {
        mayReuse = false
        continue
      }
      return exchange.result(failure)
    }
  }

  /// Upper bound for one wait. libcurl's own timers end it earlier when one is due.
  private static let longestWaitMilliseconds = 60_000

  private func run(_ exchange: Exchange, _ handle: ExchangeHandle, _ lane: Lane) -> CURLcode {
    while true {
      _ = ccurl_multi_perform(lane.multi)
      var code = CURLE_OK
      if ccurl_multi_next_done(lane.multi, &code) != nil { return code }
      if exchange.isCancelled { return CURLE_ABORTED_BY_CALLBACK }
      var wait = Self.longestWaitMilliseconds
      if let deadline = exchange.deadline {
        wait = min(wait, deadline.milliseconds - MonotonicTime.now.milliseconds)
        if wait <= 0 { return CURLE_OPERATION_TIMEDOUT }
      }
      var source: Int32 = -1
      if exchange.isBodyPaused, case .stream(let stream) = exchange.body { source = stream.descriptor }
      let ready = ccurl_multi_poll_both(lane.multi, lane.wakeUp.descriptor, source, Int32(wait))
      if ready & 1 != 0 { lane.wakeUp.clear() }
      if ready & 2 != 0 {
        exchange.isBodyPaused = false
        _ = ccurl_resume(handle.easy)
      }
    }
  }
}
