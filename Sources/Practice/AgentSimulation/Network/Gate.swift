internal import Synchronization

/// Holds requests back until a scenario opens it.
public final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var arrivals = 0
    var held: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var watchers: [CheckedContinuation<Void, Never>] = []
    var cancelled: Set<UInt64> = []
    var ids: UInt64 = 0
  }
  private let state = Mutex(State())

  public init() {}

  /// Returns when the first request has reached the gate.
  public func reached() async {
    await withCheckedContinuation { watcher in
      let isReached = state.withLock { state in
        if state.arrivals == 0 { state.watchers.append(watcher) }
        return state.arrivals > 0
      }
      if isReached { watcher.resume() }
    }
  }

  /// Lets all requests pass, waiting and future ones.
  public func open() {
    let held = state.withLock { state in
      state.isOpen = true
      defer { state.held = [:] }
      return state.held.sorted { $0.key < $1.key }.map(\.value)
    }
    for one in held { one.resume() }
  }

  /// Waits until the gate is opened or the task is cancelled.
  func pass() async {
    let (id, watchers) = state.withLock { state in
      state.ids += 1
      state.arrivals += 1
      defer { state.watchers = [] }
      return (state.ids, state.watchers)
    }
    for watcher in watchers { watcher.resume() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { one in
        let goesOn = state.withLock { state in
          if state.isOpen || state.cancelled.remove(id) != nil { return true }
          state.held[id] = one
          return false
        }
        if goesOn { one.resume() }
      }
    } onCancel: {
      let one = state.withLock { state in
        let one = state.held.removeValue(forKey: id)
        if one == nil { state.cancelled.insert(id) }
        return one
      }
      one?.resume()
    }
  }
}
