package import AgentModel
package import AgentPorts
internal import Synchronization

/// Sleeps until the earliest moment that was set, then calls its owner, which does the due work.
///
/// One sleeping task for all moments of an owner, and none while no moment is set. The owner keeps what is due when.
package final class Alarm: Sendable {
  /// Does the due work, and returns the next moment for a call; nil if no work is left.
  package typealias Look = @Sendable () async -> BootInstant?

  /// When the current sleeper wakes. A sleeper for another moment was replaced and does nothing.
  private let wakesAt = Mutex<BootInstant?>(nil)
  private let clock: any AgentClock
  private let background: BackgroundWork

  package init(clock: any AgentClock, background: BackgroundWork) {
    self.clock = clock
    self.background = background
  }

  /// Calls `look` at `moment`, or earlier if an earlier moment is set already. Sleepers are cancelled when the agent
  /// ends, and then `look` is not called.
  package func set(_ moment: BootInstant, _ look: @escaping Look) {
    let isEarliest = wakesAt.withLock { wakesAt in
      if let wakesAt, wakesAt <= moment { return false }
      wakesAt = moment
      return true
    }
    if isEarliest { sleep(until: moment, look) }
  }

  /// Calls no `look` until the next `set`.
  package func clear() { wakesAt.withLock { $0 = nil } }

  private func sleep(until moment: BootInstant, _ look: @escaping Look) {
    background.startTimer { [self] in
      await clock.sleep(until: moment)
      guard !Task.isCancelled, takeTurn(of: moment) else { return }
      if let next = await look() { set(next, look) }
    }
  }

  private func takeTurn(of moment: BootInstant) -> Bool {
    wakesAt.withLock { wakesAt in
      guard wakesAt == moment else { return false }
      wakesAt = nil
      return true
    }
  }
}
