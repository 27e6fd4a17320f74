internal import AgentPorts
internal import CCurl
internal import Glibc
internal import Synchronization
internal import Threads

/// The thread that runs transfers. It starts with the first transfer and ends `lingerMilliseconds` after the last,
/// so that an idle agent keeps neither the thread nor libcurl's memory, and never wakes.
final class CurlLoop: Sendable {
  /// The time that the thread waits for another transfer: a sign-in makes several in a row.
  static let lingerMilliseconds: Int32 = 2_000
  /// libcurl's own timers wake the thread earlier when one is due.
  private static let longestWaitMilliseconds = 60_000
  /// How long a transfer whose time is up may go on to read what has arrived. Reading from the kernel takes less.
  private static let longestReadMilliseconds = 1_000
  /// How many threads use libcurl.
  private static let running = Atomic(0)

  private struct State: @unchecked Sendable {
    var waiting: [Transfer] = []
    var isRunning = false
    /// Set while the thread may wait in `ccurl_multi_poll`.
    var multi: UnsafeMutableRawPointer?
  }
  private let state = Mutex(State())
  private let lingerMilliseconds: Int32

  init(lingerMilliseconds: Int32) { self.lingerMilliseconds = lingerMilliseconds }

  func start(_ transfer: Transfer) {
    let needsThread = state.withLock { state in
      state.waiting.append(transfer)
      if let multi = state.multi { ccurl_multi_wakeup(multi) }
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if needsThread, !DetachedThread.start({ self.run() }) { failAll() }
  }

  /// Wakes the thread, so that it ends cancelled transfers.
  func wake() {
    state.withLock { state in
      if let multi = state.multi { ccurl_multi_wakeup(multi) }
    }
  }

  /// Fails every waiting transfer as not connected: without a thread or libcurl, nothing was sent.
  private func failAll() {
    let waiting = state.withLock { state in
      state.isRunning = false
      defer { state.waiting = [] }
      return state.waiting
    }
    for transfer in waiting { transfer.finish(.notConnected(.other)) }
  }

  // MARK: on the thread

  private func run() {
    guard ccurl_open(), let multi = ccurl_multi_init() else { return failAll() }
    Self.running.add(1, ordering: .relaxed)
    state.withLock { $0.multi = multi }
    var active: [UnsafeMutableRawPointer: EasyHandle] = [:]
    repeat {
      for transfer in takeWaiting() { begin(transfer, on: multi, &active) }
      for handle in active.values where handle.transfer.isCancelled {
        end(handle, CURLE_ABORTED_BY_CALLBACK, on: multi, &active)
      }
      _ = ccurl_multi_perform(multi)
      var result = CURLE_OK
      while let easy = ccurl_multi_next_done(multi, &result) {
        if let handle = active[easy] { end(handle, result, on: multi, &active) }
      }
      let wait = endOverdue(on: multi, &active)
      clearRegisters()
      _ = ccurl_multi_poll(multi, active.isEmpty ? lingerMilliseconds : Int32(wait))
    } while !active.isEmpty || !mayEnd()
    ccurl_multi_cleanup(multi)
    if Self.running.subtract(1, ordering: .relaxed).newValue == 0 { ccurl_give_memory_back() }
  }

  /// Ends the transfers whose time is up. The process may have been stopped meanwhile, so a response that has arrived
  /// is read first: a transfer ends when libcurl has run once more and read nothing. Returns how long the thread may
  /// wait.
  private func endOverdue(
    on multi: UnsafeMutableRawPointer, _ active: inout [UnsafeMutableRawPointer: EasyHandle]
  ) -> Int {
    var wait = Self.longestWaitMilliseconds
    let now = MonotonicTime.now
    for handle in active.values {
      let transfer = handle.transfer
      guard now >= transfer.deadline else {
        wait = min(wait, transfer.deadline.milliseconds - now.milliseconds)
        continue
      }
      if let overdue = handle.overdue,
        overdue.receivedBytes == transfer.receivedBytes || now >= overdue.since + Self.longestReadMilliseconds
      {
        end(handle, CURLE_OPERATION_TIMEDOUT, on: multi, &active)
      } else {
        handle.overdue = (transfer.receivedBytes, handle.overdue?.since ?? now)
        wait = 0
      }
    }
    return wait
  }

  private func takeWaiting() -> [Transfer] {
    state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  /// Decided under the lock: a transfer that comes next is seen here, or starts a new thread.
  private func mayEnd() -> Bool {
    state.withLock { state in
      guard state.waiting.isEmpty else { return false }
      state.multi = nil
      state.isRunning = false
      return true
    }
  }

  private func begin(
    _ transfer: Transfer, on multi: UnsafeMutableRawPointer, _ active: inout [UnsafeMutableRawPointer: EasyHandle]
  ) {
    guard let handle = EasyHandle(transfer), ccurl_multi_add_handle(multi, handle.easy) == CURLM_OK else {
      return transfer.finish(.notConnected(.other))
    }
    transfer.begin()
    active[handle.easy] = handle
  }

  private func end(
    _ handle: EasyHandle, _ code: CURLcode, on multi: UnsafeMutableRawPointer,
    _ active: inout [UnsafeMutableRawPointer: EasyHandle]
  ) {
    let failure = handle.failure(code)
    _ = ccurl_multi_remove_handle(multi, handle.easy)
    active[handle.easy] = nil
    wipeStack(.libraries)
    handle.transfer.finish(handle.transfer.outcome(of: failure))
  }
}
