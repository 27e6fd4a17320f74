internal import Agent
internal import Synchronization

/// The requests of one connection that have no answer yet, by the bytes of their ids.
final class RequestsInFlight: Sendable {
  enum Refusal: Error { case duplicateID, tooMany }

  private struct Entry {
    /// The request's running task; nil before it begins and after it ends.
    var task: UnsafeCurrentTask?
    var isCancelled = false
  }

  private struct State: @unchecked Sendable {
    // UnsafeCurrentTask may be cancelled from anywhere while its task lives; the lock keeps it from outliving that.
    var entries: [[UInt8]: Entry] = [:]
    var notifications = 0
    /// The number of requests without a queued answer. A request's place is released before its answer is sent, since
    /// the client may then use the id again; the connection stays open until the answer is queued.
    var unanswered = 0
  }
  private let state = Mutex(State())
  private let limit: Int

  init(limit: Int = ServingLimits().requestsInFlight) { self.limit = limit }

  var isEmpty: Bool { state.withLock { $0.unanswered == 0 } }

  func contains(_ id: UnsafeRawBufferPointer) -> Bool {
    state.withLock { !$0.entries.isEmpty && $0.entries[Array(id)] != nil }
  }

  /// Takes a place for a request; notifications have no id and count all the same.
  func begin(_ id: [UInt8]?) throws(Refusal) {
    try state.withLock { (state) throws(Refusal) in
      if let id, state.entries[id] != nil { throw .duplicateID }
      guard state.entries.count + state.notifications < limit else { throw .tooMany }
      if let id { state.entries[id] = Entry() } else { state.notifications += 1 }
      state.unanswered += 1
    }
  }

  /// Releases the place of a request, just before its answer is queued.
  func release(_ id: [UInt8]?) {
    state.withLock { state in
      if let id { state.entries[id] = nil } else { state.notifications -= 1 }
    }
  }

  /// Records that an answer is queued; true if no request is unanswered.
  func end() -> Bool {
    state.withLock { state in
      state.unanswered -= 1
      return state.unanswered == 0
    }
  }

  /// Runs `body` so that `cancel` can cancel it.
  func run<Result: Sendable>(_ id: [UInt8]?, _ body: () async -> Result) async -> Result {
    guard let id else { return await body() }
    return await withUnsafeCurrentTask { task in
      state.withLock { state in
        if state.entries[id]?.isCancelled == true { task?.cancel() }
        state.entries[id]?.task = task
      }
      let result = await body()
      state.withLock { $0.entries[id]?.task = nil }
      return result
    }
  }

  func cancel(_ id: [UInt8]) {
    state.withLock { state in
      state.entries[id]?.isCancelled = true
      state.entries[id]?.task?.cancel()
    }
  }

  func cancelAll() {
    state.withLock { state in
      for id in state.entries.keys {
        state.entries[id]?.isCancelled = true
        state.entries[id]?.task?.cancel()
      }
    }
  }
}
