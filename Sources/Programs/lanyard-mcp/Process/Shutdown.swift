internal import Glibc
internal import Synchronization
internal import Threads

/// What takes the client's messages, and writes what comes of them to `output`.
protocol MessageServer: AnyObject, Sendable {
  var output: MessageOutput { get }
  var shutdown: Shutdown { get }
  /// Takes one line of the client.
  func take(_ line: UnsafeRawBufferPointer)
  /// Takes no further request, and ends those that would not end by themselves. True if no message is on its way.
  func end(_ reason: Shutdown.Reason) -> Bool
  /// No message of the client is on its way.
  var isIdle: Bool { get }
  /// The last work, once all requests have ended or their time is over: two seconds at most.
  func close()
}

/// Ends the program: requests in flight end within a bound.
final class Shutdown: @unchecked Sendable {
  enum Reason {
    /// The client has closed the input: what is in flight may end.
    case endOfInput
    /// A signal, or the client reads no more.
    case interrupted
  }

  /// How long requests in flight have after the end of the input: a client waits for the end of the program.
  static let endOfInputMilliseconds = 3_000
  private static let cancelledMilliseconds = 500
  /// Longer than all of `finish`.
  private static let longestEndMilliseconds = 3_500

  /// Set once, before the first thread.
  weak var server: (any MessageServer)?
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
    guard let server else { return }
    if reason == .interrupted { interrupted.signal() }
    isEnding.withLock { $0 = true }
    if server.end(reason) { idle.signal() }
  }

  func becameIdle() { if isEnding.withLock({ $0 }) { idle.signal() } }

  /// Waits a moment for cancelled requests.
  func finish() {
    guard let server else { return }
    interrupted.signal()
    for _ in 0..<(Self.cancelledMilliseconds / 10) where !server.isIdle { pause(10) }
    server.close()
  }
}
