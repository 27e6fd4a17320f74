internal import AgentModel
internal import AgentPorts
internal import Synchronization

/// One timer for the looks ahead of all accounts: a sleeping task for each of ten thousand would be felt.
final class RenewalTimer: Sendable {
  private struct Look: Sendable {
    var account: Account
    var moment: BootInstant
  }

  private struct State {
    var looks = DeadlineQueue<Look>()
    var planned: UInt64 = 0
    /// When the task that sleeps now wakes; one that sleeps longer finds that it is not meant any more.
    var wakesAt: BootInstant?
  }

  private let state = Mutex(State())
  private let clock: any AgentClock
  private let background: BackgroundWork

  init(clock: any AgentClock, background: BackgroundWork) {
    self.clock = clock
    self.background = background
  }

  func plan(_ account: Account, at moment: BootInstant) {
    let isEarliest = state.withLock { state in
      state.planned += 1
      state.looks.insert(state.planned, Look(account: account, moment: moment), until: moment)
      guard state.wakesAt.map({ moment < $0 }) ?? true else { return false }
      state.wakesAt = moment
      return true
    }
    if isEarliest { sleep(until: moment) }
  }

  /// Nobody's tokens are renewed while the vault is locked.
  func clear() {
    state.withLock { state in
      state.looks = DeadlineQueue()
      state.wakesAt = nil
    }
  }

  private func sleep(until moment: BootInstant) {
    background.startTimer { [self] in
      await clock.sleep(until: moment)
      guard !Task.isCancelled else { return }
      wake(planned: moment)
    }
  }

  private func wake(planned: BootInstant) {
    let (due, next) = state.withLock { state -> ([Look], BootInstant?) in
      guard state.wakesAt == planned else { return ([], nil) }
      let due = state.looks.removeDue(at: clock.boot())
      state.wakesAt = state.looks.earliest
      return (due, state.wakesAt)
    }
    for look in due { background.start { await look.account.look(planned: look.moment) } }
    if let next { sleep(until: next) }
  }
}
