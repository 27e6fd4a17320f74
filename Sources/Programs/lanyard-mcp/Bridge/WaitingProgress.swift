internal import Glibc
internal import MCPBridge
internal import Synchronization
internal import Threads

/// Tells the client that a request waits, while the server has not begun its answer: a proxy may ask a person first, and
/// clients give up a request of which they are told nothing, many after a minute. One thread for all requests.
final class WaitingProgress: Sendable {
  private struct Waiting {
    let call: Call
    let token: MessageID
    let began: MonotonicTime
    var tellAt: MonotonicTime
  }

  private struct State {
    var waiting: [ObjectIdentifier: Waiting] = [:]
    var hasThread = false
    /// The thread sleeps until it is woken.
    var isIdle = false
  }

  private let output: MessageOutput
  private let state = Mutex(State())
  private let added = WakeUp()

  private static let intervalMilliseconds = 5_000
  /// `progress` grows with each notification, also with those of the server that come later.
  private static let step = 0.000_001

  init(_ output: MessageOutput) { self.output = output }

  /// The request is sent. Without a progress token the client is told nothing.
  func begin(_ call: Call) {
    guard let token = call.message.progressToken else { return }
    enum Way { case start, wake, leave }
    let way = state.withLock { state -> Way in
      let now = MonotonicTime.now
      state.waiting[ObjectIdentifier(call)] = Waiting(
        call: call, token: token, began: now, tellAt: now + Self.intervalMilliseconds)
      defer { state.hasThread = true }
      return state.hasThread ? (state.isIdle ? .wake : .leave) : .start
    }
    switch way {
    case .start: if !DetachedThread.start({ self.run() }) { state.withLock { $0.hasThread = false } }
    // The thread that sleeps for another request wakes before this one is due.
    case .leave: break
    case .wake: added.signal()
    }
  }

  /// The server answers, or the request is over: from now on no progress comes from here.
  func end(_ call: Call) {
    guard call.message.progressToken != nil else { return }
    state.withLock { $0.waiting[ObjectIdentifier(call)] = nil }
  }

  private func run() {
    while true {
      var entry = pollfd(fd: added.descriptor, events: Int16(POLLIN), revents: 0)
      poll(&entry, 1, pause)
      added.clear()
      tell()
    }
  }

  /// Milliseconds until the next request is due; -1 without one.
  private var pause: Int32 {
    state.withLock { state in
      let next = state.waiting.values.map(\.tellAt).min()
      state.isIdle = next == nil
      return next.map { Int32(clamping: max(0, $0 - .now)) } ?? -1
    }
  }

  /// Under the lock, so that none follows the answer.
  private func tell() {
    state.withLock { state in
      let now = MonotonicTime.now
      for (key, waiting) in state.waiting where waiting.tellAt <= now && !waiting.call.isCancelled {
        let count = (now - waiting.began) / Self.intervalMilliseconds
        output.write(
          ServerReply.progress(
            waiting.token, Double(count) * Self.step, message: "Waiting for the server, or for a person's yes."))
        state.waiting[key]?.tellAt = now + Self.intervalMilliseconds
      }
      state.waiting = state.waiting.filter { !$0.value.call.isCancelled }
    }
  }
}
