internal import Glibc
internal import MCPBridge
internal import StreamingHTTP
internal import Synchronization
internal import Threads

/// Ends the bridge: requests in flight end within a bound, and the session is deleted at the server.
final class Shutdown: @unchecked Sendable {
  enum Reason {
    /// The client has closed the input: what is in flight may end.
    case endOfInput
    /// A signal, or the client reads no more.
    case interrupted
  }

  /// How long requests in flight have after the end of the input: a client waits for the end of the program.
  static let endOfInputMilliseconds = 3_000
  private static let deleteMilliseconds = 2_000
  private static let cancelledMilliseconds = 500
  /// Longer than all of `finish`.
  private static let longestEndMilliseconds = 3_500

  /// Set once, before the first thread.
  weak var bridge: Bridge?
  /// Readable once no message is on its way.
  let idle = WakeUp()
  private let isEnding = Mutex(false)
  private let interrupted = WakeUp()

  /// Ends the process some time after a signal, or after the end of the input, also where a thread does not come back: the
  /// client does not read what is written, or the agent does not answer.
  func guardEnd(signals: Int32) {
    _ = DetachedThread.start { [interrupted] in
      var watched = [
        pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
        pollfd(fd: interrupted.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      while poll(&watched, nfds_t(watched.count), -1) <= 0 {}
      pause(Self.longestEndMilliseconds)
      _exit(0)
    }
  }

  func begin(_ reason: Reason) {
    guard let bridge else { return }
    if reason == .interrupted { interrupted.signal() }
    isEnding.withLock { $0 = true }
    let (calls, stream, isIdle) = bridge.state.withLock { state in
      state.isEnding = true
      let calls = Array(state.requests.values)
      return (calls, state.serverStream, state.isIdle)
    }
    stream?.cancellation.cancel()
    for call in calls where reason == .interrupted || call.message.method == "subscriptions/listen" {
      call.cancel(endsRequest: true)
    }
    if isIdle { idle.signal() }
  }

  func becameIdle() { if isEnding.withLock({ $0 }) { idle.signal() } }

  /// Waits a moment for cancelled requests, and deletes the session (2025-11-25, Session Management).
  func finish() {
    guard let bridge else { return }
    interrupted.signal()
    for _ in 0..<(Self.cancelledMilliseconds / 10) where !bridge.state.withLock({ $0.isIdle }) { pause(10) }
    let session = bridge.state.withLock { $0.session }
    guard session.id != nil else { return }
    let cancellation = HTTPCancellation()
    cancellation.cancel(afterMilliseconds: Self.deleteMilliseconds)
    _ = bridge.sender.send(
      Outgoing(method: "DELETE", fields: RequestHeaders.legacy(session), cancellation: cancellation, isForPerson: false)
    ) { _, _ in true }
  }
}
