internal import Synchronization

/// Whether a simulated process is alive. The tasks of a dead process run to their end over ports that do nothing, so
/// that a crash leaves no task in memory and has no effect outside.
final class ProcessLife: Sendable {
  private let alive = Atomic(true)
  private let endActions = Mutex<[@Sendable () -> Void]>([])

  var isAlive: Bool { alive.load(ordering: .relaxed) }

  /// Ends the process at this point, as seen from outside.
  func end() {
    guard alive.exchange(false, ordering: .relaxed) else { return }
    let endActions = endActions.withLock { endActions in
      defer { endActions = [] }
      return endActions
    }
    for action in endActions { action() }
  }

  /// Runs `action` once, at the end of the process; at once if it has ended.
  func atEnd(_ action: @escaping @Sendable () -> Void) {
    let isOver = endActions.withLock { endActions in
      guard isAlive else { return true }
      endActions.append(action)
      return false
    }
    if isOver { action() }
  }
}
