internal import Synchronization

/// The agent ends: cuts off work that waits for a server.
final class StopSignal: Sendable {
  private struct State {
    var isStopping = false
    var count: UInt64 = 0
    var waiters: [UInt64: AsyncStream<Void>.Continuation] = [:]
  }

  private let state = Mutex(State())

  var isStopping: Bool { state.withLock(\.isStopping) }

  func stop() {
    let waiters = state.withLock { state in
      state.isStopping = true
      defer { state.waiters = [:] }
      return state.waiters
    }
    for waiter in waiters.values { waiter.finish() }
  }

  /// Ends with `work`, or when the agent ends: then `work` is cancelled.
  func until<Success: Sendable>(_ work: @escaping @Sendable () async -> Success) async -> Success {
    let (stops, stop) = AsyncStream<Void>.makeStream()
    let number = state.withLock { state in
      state.count += 1
      if !state.isStopping { state.waiters[state.count] = stop }
      return state.isStopping ? nil : state.count
    }
    if number == nil { stop.finish() }
    let result = await withTaskGroup(of: Success?.self) { group in
      group.addTask { await work() }
      group.addTask {
        for await _ in stops {}
        return nil
      }
      var result: Success?
      while let next = await group.next() {
        if let next { result = next }
        group.cancelAll()
      }
      return result
    }
    if let number { state.withLock { _ = $0.waiters.removeValue(forKey: number) } }
    stop.finish()
    // `work` always ends with a value.
    return result!
  }
}
