internal import AgentCore
package import AgentModel
package import AgentPorts
internal import Synchronization

/// The step-ups that are valid now, with the one timer that ends them: nothing wakes while there is none.
///
/// Granted and cleared by `VaultActor`, in the same step as what they hang on, so that no step-up outlives a sign-out
/// or a lock. They are in memory alone: a restart ends them all.
package final class StepUps: Sendable {
  private let moments = Mutex(ActiveStepUps())
  private let clock: any AgentClock
  private let events: any EventPublishing
  private let alarm: Alarm
  private let decisions: DecisionCache

  package init(
    clock: any AgentClock, events: any EventPublishing, background: BackgroundWork,
    decisions: DecisionCache = DecisionCache()
  ) {
    self.clock = clock
    self.events = events
    self.decisions = decisions
    alarm = Alarm(clock: clock, background: background)
  }

  // MARK: questions

  /// As the wall clock shows it now; nil if there is no valid step-up.
  package func validUntil(_ id: AccountID) -> Timestamp? {
    let now = clock.boot()
    return moments.withLock { $0.validUntil(id, at: now) }.map { clock.wall() + ($0 - now) }
  }

  func isValid(_ id: AccountID) -> Bool { moments.withLock { $0.validUntil(id, at: clock.boot()) } != nil }

  /// For the policy, at one moment: how long ago the person proved to be there, by each method, and for how much longer
  /// that counts.
  package func known(_ id: AccountID) -> (ages: [StepUpMethod: Milliseconds], left: [StepUpMethod: Milliseconds]) {
    moments.withLock { moments in
      let now = clock.boot()
      return (moments.ages(id, at: now), moments.left(id, at: now))
    }
  }

  // MARK: changes

  /// The person proved to be there. Until when that counts, on the wall clock.
  package func grant(_ id: AccountID, by method: StepUpMethod, for duration: Milliseconds) -> Timestamp {
    let now = clock.boot()
    let validUntil = clock.wall() + duration
    let earliest = moments.withLock { moments in
      moments.granted(id, by: method, at: now, for: duration)
      decisions.withdraw(id)
      events.publish(.stepUpGranted(validUntil: validUntil), account: id)
      return moments.earliest
    }
    if let earliest { alarm.set(earliest) { [self] in expire() } }
    return validUntil
  }

  package func clear(_ id: AccountID) {
    moments.withLock { moments in
      decisions.withdraw(id)
      if moments.clear(id) { events.publish(.stepUpExpired, account: id) }
    }
  }

  func clearAll() {
    moments.withLock { moments in
      decisions.withdrawAll()
      for id in moments.clearAll() { events.publish(.stepUpExpired, account: id) }
    }
  }

  /// The agent ends: forgets every step-up without telling a client.
  package func end() { moments.withLock { $0 = ActiveStepUps() } }

  private func expire() -> BootInstant? {
    moments.withLock { moments in
      for id in moments.expire(at: clock.boot()) {
        decisions.withdraw(id)
        events.publish(.stepUpExpired, account: id)
      }
      return moments.earliest
    }
  }
}
