import Glibc
import StreamingHTTP
import Synchronization
import Threads

/// Notices clients that go away while a server is waited for, and ends their requests: one thread for all connections.
final class HangUps: Sendable {
  /// The number tells a socket from a later one that got its descriptor.
  private let watched = Mutex<[Int32: (number: UInt64, cancellation: HTTPCancellation)]>([:])
  private let lastNumber = Atomic<UInt64>(0)
  private let wakeUp = WakeUp()

  /// False if there is no thread left.
  func start() -> Bool {
    wakeUp.descriptor >= 0 && DetachedThread.start { [self] in run() }
  }

  /// Watches a client's socket while `body` runs.
  func watch<Result>(_ socket: Int32, _ cancellation: HTTPCancellation, _ body: () -> Result) -> Result {
    let number = lastNumber.add(1, ordering: .relaxed).newValue
    watched.withLock { $0[socket] = (number, cancellation) }
    wakeUp.signal()
    defer {
      _ = watched.withLock { $0.removeValue(forKey: socket) }
      // A socket that is closed while `poll` waits for it stays open until then.
      wakeUp.signal()
    }
    return body()
  }

  private func run() {
    // Linux's value, which Glibc's module does not have.
    let hangUp = Int16(0x2000)
    while true {
      let sockets = watched.withLock { watched in watched.map { (socket: $0.key, number: $0.value.number) } }
      var entries = sockets.map { pollfd(fd: $0.socket, events: hangUp, revents: 0) }
      entries.append(pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0))
      guard poll(&entries, nfds_t(entries.count), -1) > 0 else { continue }
      wakeUp.clear()
      for (entry, socket) in zip(entries, sockets)
      where entry.revents & (hangUp | Int16(POLLHUP) | Int16(POLLERR)) != 0 {
        watched.withLock { watched in
          guard let found = watched[socket.socket], found.number == socket.number else { return }
          watched[socket.socket] = nil
          found.cancellation.cancel()
        }
      }
    }
  }

  /// Ends all requests that run.
  func cancelAll() {
    watched.withLock { watched in
      for found in watched.values { found.cancellation.cancel() }
      watched = [:]
    }
  }
}
