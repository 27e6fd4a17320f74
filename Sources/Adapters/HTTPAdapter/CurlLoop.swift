internal import AgentModel
internal import AgentPorts
internal import CCurl
internal import CurlTransfers
internal import Glibc
internal import Synchronization
internal import Threads

/// The thread that runs transfers. It starts with the first transfer and ends `lingerMilliseconds` after the last,
/// so that an idle agent keeps neither the thread nor libcurl's memory, and never wakes. Kept connections are closed
/// with it.
final class CurlLoop: Sendable {
  /// The time that the thread waits for another transfer: a sign-in makes several in a row.
  static let lingerMilliseconds: Int32 = 2_000
  /// How long a loop that keeps connections waits. Servers close an idle connection after 5 to 75 s, and one that both
  /// ends keep costs both.
  static let keepingMilliseconds: Int32 = 15_000
  static let longestIdleSeconds = 15
  /// A write is never repeated, so it takes only a connection on which a response has just come (below 2 s, since
  /// libcurl counts whole seconds): the server is least likely to be closing that one.
  static let longestIdleSecondsBeforeWrites = 1
  /// More idle connections than these are closed, the oldest first.
  static let maximumIdleConnections = 8
  /// libcurl's own timers wake the thread earlier when one is due.
  private static let longestWaitMilliseconds = 60_000
  /// How long a transfer whose time is up may go on to read what has arrived. Reading from the kernel takes less.
  private static let longestReadMilliseconds = 1_000
  /// How many threads use libcurl.
  private static let running = Atomic(0)

  private struct State {
    var waiting: [Transfer] = []
    var isRunning = false
    /// The thread ends once it has no more transfers.
    var isRetired = false
    /// Set while the thread may wait for descriptors.
    var wakeUp: WakeUp?
  }
  private let state = Mutex(State())
  private let lingerMilliseconds: Int32

  private let keepsConnections: Bool

  init(lingerMilliseconds: Int32, keepsConnections: Bool = false) {
    self.lingerMilliseconds = lingerMilliseconds
    self.keepsConnections = keepsConnections
  }

  func start(_ transfer: Transfer) {
    let (needsThread, wakeUp) = state.withLock { state in
      state.waiting.append(transfer)
      defer { state.isRunning = true }
      return (!state.isRunning, state.wakeUp)
    }
    // Outside of the lock, which the woken thread takes at once.
    wakeUp?.signal()
    if needsThread, !DetachedThread.start({ self.run() }) { failAll() }
  }

  /// Wakes the thread, so that it ends cancelled transfers.
  func wake() { state.withLock { $0.wakeUp }?.signal() }

  /// Closes the kept connections, and ends the thread once its transfers have ended. A transfer that starts all the same
  /// runs, and its connection is closed after it.
  func retire() {
    state.withLock { state in
      state.isRetired = true
      return state.wakeUp
    }?.signal()
  }

  /// Fails every waiting transfer as not connected: without a thread or libcurl, nothing was sent.
  private func failAll(_ failure: ConnectFailure = .other) {
    let waiting = state.withLock { state in
      state.isRunning = false
      defer { state.waiting = [] }
      return state.waiting
    }
    for transfer in waiting { transfer.finish(.notConnected(failure)) }
  }

  // MARK: on the thread

  private func run() {
    let wakeUp = WakeUp()
    guard ccurl_open() else { return failAll(.noLibrary(.missingForRequests)) }
    guard wakeUp.descriptor >= 0, let multi = ccurl_multi_init() else { return failAll() }
    Self.running.add(1, ordering: .relaxed)
    state.withLock { $0.wakeUp = wakeUp }
    if keepsConnections { _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.maximumIdleConnections) }
    var active: [UnsafeMutableRawPointer: TransferHandle] = [:]
    let sockets = ConnectionSockets()
    var idleUntil: MonotonicTime?
    repeat {
      for transfer in takeWaiting() {
        transfer.begin()
        start(transfer, on: multi, sockets, &active)
      }
      for handle in active.values where handle.transfer.isCancelled {
        end(handle, CURLE_ABORTED_BY_CALLBACK, on: multi, &active)
      }
      for handle in active.values where handle.transfer.takeResumption() { handle.resume() }
      _ = ccurl_multi_perform(multi)
      var result = CURLE_OK
      while let easy = ccurl_multi_next_done(multi, &result) {
        guard let handle = active[easy] else { continue }
        if result == CURLE_ABORTED_BY_CALLBACK, handle.transfer.needsNewConnection {
          restart(handle, on: multi, sockets, &active)
        } else {
          end(handle, result, on: multi, &active)
        }
      }
      let longestWait = endOverdue(on: multi, &active)
      clearRegisters()
      if active.isEmpty {
        let isRetired = state.withLock { $0.isRetired }
        let until = idleUntil ?? MonotonicTime.now + (isRetired ? 0 : Int(lingerMilliseconds))
        idleUntil = until
        wait(Int32(max(0, until.milliseconds - MonotonicTime.now.milliseconds)), on: multi, wakeUp)
      } else {
        idleUntil = nil
        wait(Int32(longestWait), on: multi, wakeUp)
      }
    } while !active.isEmpty || !mayEnd(idleUntil)
    ccurl_multi_cleanup(multi)
    if Self.running.subtract(1, ordering: .relaxed).newValue == 0 { ccurl_give_memory_back() }
  }

  private func wait(_ milliseconds: Int32, on multi: UnsafeMutableRawPointer, _ wakeUp: WakeUp) {
    if ccurl_multi_poll(multi, wakeUp.descriptor, milliseconds) { wakeUp.clear() }
  }

  /// Ends the transfers whose time is up. The process may have been stopped meanwhile, so a response that has arrived
  /// is read first: a transfer ends when libcurl has run once more and read nothing. Returns how long the thread may
  /// wait.
  private func endOverdue(
    on multi: UnsafeMutableRawPointer, _ active: inout [UnsafeMutableRawPointer: TransferHandle]
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
  private func mayEnd(_ idleUntil: MonotonicTime?) -> Bool {
    state.withLock { state in
      guard state.waiting.isEmpty else { return false }
      guard state.isRetired || idleUntil.map({ $0 <= MonotonicTime.now }) ?? false else { return false }
      state.wakeUp = nil
      state.isRunning = false
      return true
    }
  }

  private func start(
    _ transfer: Transfer, on multi: UnsafeMutableRawPointer, _ sockets: ConnectionSockets,
    _ active: inout [UnsafeMutableRawPointer: TransferHandle]
  ) {
    transfer.prepare(sockets) { [weak self] in self?.wake() }
    guard let handle = TransferHandle(transfer), ccurl_multi_add_handle(multi, handle.easy) == CURLM_OK else {
      return transfer.finish(.notConnected(.other))
    }
    active[handle.easy] = handle
  }

  /// Begins the transfer again on a new connection. Its time goes on.
  private func restart(
    _ handle: TransferHandle, on multi: UnsafeMutableRawPointer, _ sockets: ConnectionSockets,
    _ active: inout [UnsafeMutableRawPointer: TransferHandle]
  ) {
    _ = ccurl_multi_remove_handle(multi, handle.easy)
    active[handle.easy] = nil
    start(handle.transfer, on: multi, sockets, &active)
  }

  private func end(
    _ handle: TransferHandle, _ code: CURLcode, on multi: UnsafeMutableRawPointer,
    _ active: inout [UnsafeMutableRawPointer: TransferHandle]
  ) {
    let failure = handle.failure(code)
    if failure == nil { handle.transfer.serverKey = handle.serverKey }
    _ = ccurl_multi_remove_handle(multi, handle.easy)
    active[handle.easy] = nil
    handle.transfer.finish(handle.transfer.outcome(of: failure))
    // Last: `finish` may write the client's answer on this thread.
    wipeStack(.libraries)
  }
}
