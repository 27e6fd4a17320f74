internal import Glibc
internal import MCPBridge
internal import StreamingHTTP

/// Where a stream of events can be continued (2025-11-25, Resumability and Redelivery).
struct ResumedStream {
  private(set) var lastEventID: String
  private var retryMilliseconds: Int
  /// Connections in a row that brought no event.
  private var failures = 0

  private static let usualRetryMilliseconds = 1_000
  /// A server that demands no wait is not asked again and again at the speed of the network.
  static let leastRetryMilliseconds = 100
  private static let maximumFailures = 5

  /// Nil if the stream named no event.
  init?(_ events: EventStream) {
    guard let id = events.lastEventID else { return nil }
    lastEventID = id
    retryMilliseconds = events.retryMilliseconds ?? Self.usualRetryMilliseconds
  }

  /// Waits as long as the server demands, and longer after failures.
  func waitBeforeConnecting(_ cancellation: HTTPCancellation) {
    var rest = max(retryMilliseconds << min(failures, 4), Self.leastRetryMilliseconds)
    while rest > 0, !cancellation.isCancelled {
      pause(min(rest, 50))
      rest -= 50
    }
  }

  /// Takes what a connection brought. False if no further one is worth it.
  mutating func take(_ sent: Sent) -> Bool {
    guard case .replied(let reply, _) = sent, reply.form == .events, !reply.isTooLarge else {
      failures += 1
      // Another answer than a stream is a refusal.
      if case .replied = sent { return false }
      if case .cancelled = sent { return false }
      return failures < Self.maximumFailures
    }
    if let id = reply.events.lastEventID, id != lastEventID {
      lastEventID = id
      failures = 0
    } else {
      failures += 1
    }
    retryMilliseconds = reply.events.retryMilliseconds ?? retryMilliseconds
    return failures < Self.maximumFailures
  }
}
