internal import AgentModel
internal import CCurl
public import CurlTransfers
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
    let headers = HeaderList(
      request.fields.map { ($0.name, $0.transferValue) }, in: WipedBytes.self, removing: ["Content-Type", "Accept"])
    let transfer: TransferRequest
    do throws(TransferRequest.Refusal) {
      transfer = try TransferRequest(
        request.method, request.url, target: request.target, headers, body.transferBody, request.trust ?? settings.trust
      )
    } catch {
      return .notSent(error == .pinMismatch ? .untrusted(.pinMismatch) : .invalid)
    }
    return withoutActuallyEscaping(onHead) { onHead in
      withoutActuallyEscaping(onBody) { onBody in
        perform(
          Exchange(request, transfer, body, .init(onHead: onHead, onBody: onBody), cancellation), cancellation)
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

  private func perform(_ exchange: Exchange, _ cancellation: HTTPCancellation?) -> HTTPResult {
    guard !exchange.isCancelled else { return .notSent(.cancelled) }
    guard let lane = lanes.take(LaneKey(origin: exchange.request.url.origin, trust: exchange.transfer.trust)) else {
      return .notSent(.noLibrary)
    }
    cancellation?.attach(lane.wakeUp)
    defer {
      cancellation?.attach(nil)
      lane.wakeUp.clear()
      lanes.putBack(lane)
      if exchange.transfer.hasSecret { wipeStack(.libraries) }
    }
    var rule = ConnectionRule(
      connectMilliseconds: exchange.request.connectMilliseconds, longestIdleSeconds: settings.longestIdleSeconds)
    rule.allowsHTTP2 = settings.allowsHTTP2
    while true {
      exchange.connection.prepare(lane.sockets)
      rule.mayReuse = exchange.connection.kept == .allowed
      guard let handle = EasyHandle(exchange.transfer, rule, exchange),
        ccurl_multi_add_handle(lane.multi, handle.easy) == CURLM_OK
      else { return .notSent(.notConnected(.other)) }
      let code = run(exchange, handle, lane)
      let failure = handle.failure(code)
      if failure == nil { lane.sockets.isMultiplexed = handle.isHTTP2 }
      _ = ccurl_multi_remove_handle(lane.multi, handle.easy)
      // Nothing was sent, so that it is sent only once.
      if code == CURLE_ABORTED_BY_CALLBACK, exchange.connection.kept == .refused, !exchange.isCancelled { continue }
      return exchange.result(failure)
    }
  }

  /// Upper bound for one wait. libcurl's own timers end it earlier when one is due.
  private static let longestWaitMilliseconds = 60_000

  private func run(_ exchange: Exchange, _ handle: EasyHandle, _ lane: Lane) -> CURLcode {
    while true {
      _ = ccurl_multi_perform(lane.multi)
      var code = CURLE_OK
      if ccurl_multi_next_done(lane.multi, &code) != nil { return code }
      if exchange.isCancelled { return CURLE_ABORTED_BY_CALLBACK }
      var wait = Self.longestWaitMilliseconds
      if let deadline = exchange.deadline {
        wait = min(wait, deadline - .now)
        if wait <= 0 { return CURLE_OPERATION_TIMEDOUT }
      }
      var source: Int32 = -1
      if exchange.isBodyPaused, case .stream(let stream) = exchange.body { source = stream.descriptor }
      let ready = ccurl_multi_poll_both(lane.multi, lane.wakeUp.descriptor, source, Int32(wait))
      if ready & 1 != 0 { lane.wakeUp.clear() }
      if ready & 2 != 0 {
        exchange.isBodyPaused = false
        handle.resume()
      }
    }
  }
}
