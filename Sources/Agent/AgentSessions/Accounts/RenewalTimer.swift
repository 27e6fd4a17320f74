internal import AgentModel
internal import AgentPorts
internal import AgentRecords
internal import Synchronization

/// Calls `RenewalPlan.look` for each account at the moment that it planned: one `Alarm` for all, since ten thousand sleeping
/// tasks cost memory.
final class RenewalTimer: Sendable {
  private struct Look: Sendable {
    /// `AccountDirectory` owns the accounts, and they own this timer: a strong reference would keep all of them.
    weak var account: Account?
    var moment: BootInstant
  }

  private struct State {
    var looks = DeadlineQueue<Look>()
    var planned: UInt64 = 0
  }

  private let state = Mutex(State())
  private let clock: any AgentClock
  private let background: BackgroundWork
  private let alarm: Alarm

  init(clock: any AgentClock, background: BackgroundWork) {
    self.clock = clock
    self.background = background
    alarm = Alarm(clock: clock, background: background)
  }

  func plan(_ account: Account, at moment: BootInstant) {
    state.withLock { state in
      state.planned += 1
      state.looks.insert(state.planned, Look(account: account, moment: moment), until: moment)
    }
    alarm.set(moment) { [self] in look() }
  }

  /// Drops all plans: a locked vault renews no tokens.
  func clear() {
    state.withLock { $0.looks = DeadlineQueue() }
    alarm.clear()
  }

  private func look() -> BootInstant? {
    let (due, next) = state.withLock { ($0.looks.removeDue(at: clock.boot()), $0.looks.earliest) }
    for look in due {
      background.start {
        if let account = look.account { await RenewalPlan.look(at: account, planned: look.moment) }
      }
    }
    return next
  }
}
