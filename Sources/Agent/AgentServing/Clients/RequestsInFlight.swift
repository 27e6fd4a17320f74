internal import AgentPorts
internal import JSONRPC
internal import Synchronization

/// The requests of one connection that have no answer yet, by the keys of their ids (`RequestIDKey`): at most `limit` of
/// them run, the others wait in their order (docs/protocol.md, More requests than places).
package final class RequestsInFlight: Sendable {
  package typealias Work = @Sendable () -> Void

  /// A request in the queue.
  private final class Waiting: Sendable {
    /// Of its entry.
    let key: [UInt8]?
    let bytes: Int
    let work: Work
    /// Answers the request if it is cancelled before it runs; nil if it runs in any case.
    let cancelled: Work?

    init(key: [UInt8]?, bytes: Int, work: @escaping Work, cancelled: Work?) {
      self.key = key
      self.bytes = bytes
      self.work = work
      self.cancelled = cancelled
    }
  }

  private struct Entry {
    /// The request's running task; nil before it begins and after it ends.
    var task: UnsafeCurrentTask?
    /// Cancels the request while it runs without a task.
    var cancellation: Cancellation?
    var isCancelled = false
    /// Nil once the request has a place.
    var waiting: Waiting?
  }

  private struct State: @unchecked Sendable {
    // UnsafeCurrentTask may be cancelled from anywhere while its task lives; the lock keeps it from outliving that.
    /// By the keys of their ids.
    var entries: [[UInt8]: Entry] = [:]
    /// Requests that have a place, with notifications.
    var running = 0
    var queue: [Waiting] = []
    /// The lengths of the lines in the queue.
    var queuedBytes = 0
    /// The queue is over its bound, and has not fallen to half of it yet.
    var isFull = false
    /// One thread starts the requests of the queue, so that they begin in their order.
    var isStarting = false
    /// The number of requests without a queued answer. A request's place is released before its answer is sent, since
    /// the client may then use the id again; the connection stays open until the answer is queued.
    var unanswered = 0
  }
  private let state = Mutex(State())
  private let limit: Int
  private let queueBound: Int
  private let mayStart: @Sendable () -> Bool
  private let roomWasMade: Work

  /// - Parameters:
  ///   - limit: how many requests run at once.
  ///   - queueBound: the bytes of waiting lines from which `hasRoom` is false.
  ///   - mayStart: false while the client has too many answers to read: then the queue stands still until `resume`.
  ///   - roomWasMade: called when `hasRoom` has become true again.
  package init(
    limit: Int = ServingLimits().requestsInFlight, queueBound: Int = Limits.waitingBytes,
    mayStart: @escaping @Sendable () -> Bool = { true }, roomWasMade: @escaping Work = {}
  ) {
    self.limit = limit
    self.queueBound = queueBound
    self.mayStart = mayStart
    self.roomWasMade = roomWasMade
  }

  package var isEmpty: Bool { state.withLock { $0.unanswered == 0 } }

  /// False while so many lines wait that the connection is not read.
  package var hasRoom: Bool { state.withLock { !$0.isFull } }

  package func contains(_ id: UnsafeRawBufferPointer) -> Bool {
    state.withLock { !$0.entries.isEmpty && $0.entries[RequestIDKey.of(id)] != nil }
  }

  /// True if a request with this id may be answered at once: none waits before it, and none has its id.
  package func mayOvertake(_ id: UnsafeRawBufferPointer) -> Bool {
    state.withLock { state in
      state.queue.isEmpty && !state.isStarting
        && (state.entries.isEmpty || state.entries[RequestIDKey.of(id)] == nil)
    }
  }

  /// Does `work` now if a place is free, else when one is. No other request with this id may be in flight. Notifications
  /// have no id and take a place all the same. The reading thread makes all calls.
  ///
  /// - Parameters:
  ///   - bytes: what the request counts in the queue.
  ///   - cancelled: answers the request if it is cancelled before `work`; nil if `work` must be done.
  package func submit(_ id: [UInt8]?, bytes: Int, cancelled: Work? = nil, _ work: @escaping Work) {
    let key = id.map { RequestIDKey.of($0) }
    let startsNow = state.withLock { state in
      state.unanswered += 1
      if state.running < limit, state.queue.isEmpty, !state.isStarting {
        state.running += 1
        if let key { state.entries[key] = Entry() }
        return true
      }
      let waiting = Waiting(key: key, bytes: bytes, work: work, cancelled: cancelled)
      if let key { state.entries[key] = Entry(waiting: waiting) }
      state.queue.append(waiting)
      state.queuedBytes += bytes
      if state.queuedBytes >= queueBound { state.isFull = true }
      return false
    }
    if startsNow { work() } else { resume() }
  }

  /// Releases the place of a request, just before its answer is queued.
  package func release(_ id: [UInt8]?) {
    let key = id.map { RequestIDKey.of($0) }
    state.withLock { state in
      if let key { state.entries[key] = nil }
      state.running -= 1
    }
  }

  /// Records that an answer is queued, and gives the free place to the next waiting request; true if no request is
  /// unanswered.
  package func end() -> Bool {
    let isLast = state.withLock { state in
      state.unanswered -= 1
      return state.unanswered == 0
    }
    resume()
    return isLast
  }

  // MARK: the queue

  /// Starts requests of the queue while places are free, on the thread that has answered a request: one that reads, one of
  /// a task, or one of libcurl's. A request that ends within its `work` calls this again; the
  /// flag makes that call return, so that a long queue needs no deep stack.
  package func resume() {
    let starts = state.withLock { state in
      guard !state.isStarting, !state.queue.isEmpty, state.running < limit else { return false }
      state.isStarting = true
      return true
    }
    guard starts else { return }
    while let (next, makesRoom) = takeNext() {
      if makesRoom { roomWasMade() }
      next.work()
    }
  }

  private func takeNext() -> (Waiting, makesRoom: Bool)? {
    state.withLock { state in
      guard !state.queue.isEmpty, state.running < limit, mayStart() else {
        state.isStarting = false
        return nil
      }
      let next = state.queue.removeFirst()
      state.running += 1
      if let key = next.key { state.entries[key]?.waiting = nil }
      return (next, left(next, &state))
    }
  }

  /// `waiting` has left the queue; true if the connection may be read again.
  private func left(_ waiting: Waiting, _ state: inout State) -> Bool {
    state.queuedBytes -= waiting.bytes
    guard state.isFull, state.queuedBytes <= queueBound / 2 else { return false }
    state.isFull = false
    return true
  }

  // MARK: cancelling

  /// What cancels a request that begins without a task.
  func cancellation(of id: [UInt8]?) -> Cancellation {
    let cancellation = Cancellation()
    guard let key = id.map({ RequestIDKey.of($0) }) else { return cancellation }
    let isCancelled = state.withLock { state in
      state.entries[key]?.cancellation = cancellation
      return state.entries[key]?.isCancelled == true
    }
    if isCancelled { cancellation.cancel() }
    return cancellation
  }

  /// Runs `body` so that `cancel` can cancel it.
  package func run<Result: Sendable>(_ id: [UInt8]?, _ body: () async -> Result) async -> Result {
    guard let key = id.map({ RequestIDKey.of($0) }) else { return await body() }
    return await withUnsafeCurrentTask { task in
      state.withLock { state in
        if state.entries[key]?.isCancelled == true { task?.cancel() }
        state.entries[key]?.task = task
      }
      let result = await body()
      state.withLock { $0.entries[key]?.task = nil }
      return result
    }
  }

  /// Cancels a request that runs, or answers one that waits.
  package func cancel(_ id: [UInt8]) {
    let key = RequestIDKey.of(id)
    let (cancellation, waiting, makesRoom) = state.withLock { state -> (Cancellation?, Waiting?, Bool) in
      state.entries[key]?.isCancelled = true
      state.entries[key]?.task?.cancel()
      let cancellation = state.entries[key]?.cancellation
      guard let waiting = state.entries[key]?.waiting, waiting.cancelled != nil,
        let index = state.queue.firstIndex(where: { $0 === waiting })
      else { return (cancellation, nil, false) }
      state.queue.remove(at: index)
      state.entries[key] = nil
      return (nil, waiting, left(waiting, &state))
    }
    cancellation?.cancel()
    waiting?.cancelled?()
    if makesRoom { roomWasMade() }
  }

  /// Cancels the requests that run, and those that wait as soon as they run.
  func cancelAll() {
    let cancellations = state.withLock { state in
      for id in state.entries.keys {
        state.entries[id]?.isCancelled = true
        state.entries[id]?.task?.cancel()
      }
      return state.entries.values.compactMap(\.cancellation)
    }
    for cancellation in cancellations { cancellation.cancel() }
  }

  /// Cancels the requests that run, and forgets those that wait: the client is gone.
  package func abandon() {
    cancelAll()
    let dropped = state.withLock { state in
      for waiting in state.queue {
        if let key = waiting.key { state.entries[key] = nil }
      }
      state.unanswered -= state.queue.count
      state.queuedBytes = 0
      defer { state.queue = [] }
      return state.queue
    }
    // Released outside of the lock: a request may hold secrets, and the connection.
    withExtendedLifetime(dropped) {}
  }
}
