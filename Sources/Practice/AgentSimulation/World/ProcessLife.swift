internal import Synchronization

/// Whether a simulated process is alive. What a dead one still does reaches nobody: its tasks run to their end over
/// ports that do nothing, so that a crash leaves nothing in memory behind.
final class ProcessLife: Sendable {
  private let alive = Atomic(true)
  private let mourners = Mutex<[@Sendable () -> Void]>([])

  var isAlive: Bool { alive.load(ordering: .relaxed) }

  /// Ends the process at this very instruction, as far as anybody outside can tell.
  func end() {
    guard alive.exchange(false, ordering: .relaxed) else { return }
    let mourners = mourners.withLock { mourners in
      defer { mourners = [] }
      return mourners
    }
    for mourner in mourners { mourner() }
  }

  /// Called once, at the end; at once if that has been.
  func atEnd(_ action: @escaping @Sendable () -> Void) {
    let isOver = mourners.withLock { mourners in
      guard isAlive else { return true }
      mourners.append(action)
      return false
    }
    if isOver { action() }
  }
}
