internal import AgentPorts
internal import CCurl
internal import Glibc
internal import Synchronization

/// The thread on which every transfer runs. It starts with the first transfer and ends a while after the last, so an
/// idle agent has neither the thread nor what libcurl keeps beside it, and nothing wakes.
final class CurlLoop: Sendable {
  /// How long it stays for the next transfer: a sign-in makes several in a row.
  static let lingerMilliseconds: Int32 = 2_000
  /// libcurl's own timers wake it earlier when one is due.
  private static let longestWaitMilliseconds: Int32 = 60_000

  private struct State: @unchecked Sendable {
    var waiting: [Transfer] = []
    var isRunning = false
    /// Set while the thread may be asleep in it.
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
    if needsThread, !spawn() { failAll() }
  }

  /// Has the thread look whom to cancel.
  func wake() {
    state.withLock { state in
      if let multi = state.multi { ccurl_multi_wakeup(multi) }
    }
  }

  private func spawn() -> Bool {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(self)
    let result = pthread_create(
      &thread, nil,
      { context in
        ccurl_block_signals()
        Unmanaged<CurlLoop>.fromOpaque(context!).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    if result != 0 {
      context.release()
    } else {
      pthread_detach(thread)
    }
    return result == 0
  }

  /// No thread or no libcurl: nothing was sent.
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
      _ = ccurl_multi_poll(multi, active.isEmpty ? lingerMilliseconds : Self.longestWaitMilliseconds)
    } while !active.isEmpty || !mayEnd()
    ccurl_multi_cleanup(multi)
    ccurl_give_memory_back()
    // Last: what is called for the first time has the vector registers laid on the stack, and what was copied is in them.
    ccurl_wipe_stack()
  }

  private func takeWaiting() -> [Transfer] {
    state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  /// Under the lock, so that whoever comes next either is seen here or starts a thread of its own.
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
    active[handle.easy] = handle
  }

  private func end(
    _ handle: EasyHandle, _ code: CURLcode, on multi: UnsafeMutableRawPointer,
    _ active: inout [UnsafeMutableRawPointer: EasyHandle]
  ) {
    let failure = handle.failure(code)
    _ = ccurl_multi_remove_handle(multi, handle.easy)
    active[handle.easy] = nil
    ccurl_wipe_stack()
    handle.transfer.finish(handle.transfer.outcome(of: failure))
  }
}
