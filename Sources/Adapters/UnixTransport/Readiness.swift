internal import CPlatform
internal import Glibc

/// Waits for descriptors. Sockets are in epoll's set, so that silent ones cost nothing; standard input and output,
/// which may be plain files that epoll refuses, are polled beside it.
struct Readiness: ~Copyable {
  struct Event {
    var token: UInt64
    var events: Int16
  }

  private let set = lanyard_readiness()
  private var buffer = [lanyard_ready](repeating: lanyard_ready(), count: 64)
  private var polled: [pollfd] = []
  private var tokens: [UInt64] = []

  init() { polled.append(pollfd(fd: set, events: Int16(POLLIN), revents: 0)) }

  deinit { close(set) }

  /// Hang-ups are reported even if no events are asked for.
  func add(_ fd: Int32, _ events: Int16, token: UInt64) { _ = lanyard_readiness_add(set, fd, events, token) }
  func change(_ fd: Int32, _ events: Int16, token: UInt64) { _ = lanyard_readiness_change(set, fd, events, token) }
  func remove(_ fd: Int32) { lanyard_readiness_remove(set, fd) }

  /// Polls a descriptor beside the set; with no events it is not polled at all, unless its hang-up is wanted.
  mutating func poll(_ fd: Int32, _ events: Int16, token: UInt64, orHangUp: Bool = false) {
    let entry = pollfd(fd: events == 0 && !orHangUp ? -1 : fd, events: events, revents: 0)
    if let index = tokens.firstIndex(of: token) {
      polled[index + 1] = entry
    } else {
      tokens.append(token)
      polled.append(entry)
    }
  }

  /// Blocks until a descriptor is ready or the milliseconds are over (-1: never), and lends the ready ones.
  mutating func wait(_ timeout: Int32, _ body: (Event) -> Void) {
    var timeout = timeout
    if !tokens.isEmpty {
      guard Glibc.poll(&polled, nfds_t(polled.count), timeout) >= 0 else { return }
      for (entry, token) in zip(polled.dropFirst(), tokens) where entry.revents != 0 {
        body(Event(token: token, events: entry.revents))
      }
      guard polled[0].revents != 0 else { return }
      timeout = 0
    }
    let count = lanyard_readiness_wait(set, &buffer, Int32(buffer.count), timeout)
    for entry in buffer[..<max(0, Int(count))] { body(Event(token: entry.token, events: entry.events)) }
  }
}
