internal import AgentCore
package import AgentModel
package import AgentPorts
package import AgentStore
internal import Synchronization

/// The step-ups that are valid now, with the one timer that ends them: nothing wakes while there is none.
///
/// Granted and cleared by `VaultActor`, in the same step as what they hang on, so that no step-up outlives a sign-out
/// or a lock. They are in memory alone: a restart ends them all.
package final class StepUps: Sendable {
  private let moments = Mutex(ActiveStepUps())
  /// What persons confirmed in the agent's own prompt, each for one capability and one grant. Changed within `moments`.
  private let confirmations = Mutex(RequestConfirmations())
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

  /// Nil if there is no valid step-up.
  package func validUntil(_ id: AccountID) -> BootInstant? {
    moments.withLock { $0.validUntil(id, at: clock.boot()) }
  }

  /// How long ago the person confirmed a capability for this grant, by capability.
  package func confirmed(_ id: AccountID, for grant: String?) -> [String: Milliseconds] {
    confirmations.withLock { $0.ages(id, for: grant, at: clock.boot()) }
  }

  /// A proof of the whole account, or a confirmation of some capability.
  func hasAny(_ id: AccountID) -> Bool { isValid(id) || confirmations.withLock { $0.hasSome(id) } }

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

  /// The person proved to be there. Returns until when that counts.
  ///
  /// - Parameter inPrompt: in the agent's own prompt, so that it counts as a confirmation of every capability, too.
  package func grant(
    _ id: AccountID, by method: StepUpMethod, for duration: Milliseconds, inPrompt: Bool = false
  ) -> BootInstant {
    let now = clock.boot()
    let earliest = moments.withLock { moments in
      moments.granted(id, by: method, at: now, for: duration)
      if inPrompt { moments.granted(id, by: .pinentry, at: now, for: duration) }
      decisions.withdraw(id)
      events.publish(.stepUpGranted(validUntil: clock.wall() + duration), account: id)
      return moments.earliest
    }
    if let earliest { alarm.set(earliest) { [self] in expire() } }
    return now + duration
  }

  /// The person confirmed these capabilities for one grant. It ends with the account's step-ups.
  package func confirm(_ id: AccountID, _ capabilities: [String], for grant: String?) {
    moments.withLock { _ in
      confirmations.withLock { $0.confirm(id, capabilities, for: grant, at: clock.boot()) }
      decisions.withdraw(id)
    }
  }

  func clear(_ id: AccountID) {
    moments.withLock { moments in
      confirmations.withLock { $0.clear(id) }
      decisions.withdraw(id)
      if moments.clear(id) { events.publish(.stepUpExpired, account: id) }
    }
  }

  func clearAll() {
    moments.withLock { moments in
      confirmations.withLock { $0 = RequestConfirmations() }
      decisions.withdrawAll()
      for id in moments.clearAll() { events.publish(.stepUpExpired, account: id) }
    }
  }

  /// The agent ends: forgets every step-up without telling a client.
  package func end() {
    moments.withLock { moments in
      moments = ActiveStepUps()
      confirmations.withLock { $0 = RequestConfirmations() }
    }
  }

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
