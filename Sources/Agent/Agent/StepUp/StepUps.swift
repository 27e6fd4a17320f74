internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import Synchronization

/// The step-ups that are valid now, with the one timer that ends them: nothing wakes while there is none.
///
/// Granted and cleared by the registry, in the same step as what they hang on, so that no step-up outlives a sign-out or
/// a lock. They are in memory alone: a restart ends them all.
final class StepUps: Sendable {
  fileprivate struct State {
    var moments = ActiveStepUps()
    /// When the task that sleeps now wakes; one that sleeps for another moment finds that it is not meant any more.
    var wakesAt: BootInstant?
  }

  private let state = Mutex(State())
  private let clock: any AgentClock
  private let events: EventHub
  private let background: BackgroundWork

  init(clock: any AgentClock, events: EventHub, background: BackgroundWork) {
    self.clock = clock
    self.events = events
    self.background = background
  }

  // MARK: questions

  /// As the wall clock shows it now; nil if there is no valid step-up.
  func validUntil(_ id: AccountID) -> Timestamp? {
    let now = clock.boot()
    return state.withLock { $0.moments.validUntil(id, at: now) }.map { clock.wall() + ($0 - now) }
  }

  func isValid(_ id: AccountID) -> Bool { state.withLock { $0.moments.validUntil(id, at: clock.boot()) } != nil }

  /// For the policy, at one moment: how long ago the person proved to be there, by each method, and for how much longer
  /// that counts.
  func known(_ id: AccountID) -> (ages: [StepUpMethod: Milliseconds], left: [StepUpMethod: Milliseconds]) {
    state.withLock { state in
      let now = clock.boot()
      return (state.moments.ages(id, at: now), state.moments.left(id, at: now))
    }
  }

  // MARK: changes

  /// The person proved to be there. Until when that counts, on the wall clock.
  func grant(_ id: AccountID, by method: StepUpMethod, for duration: Milliseconds) -> Timestamp {
    let now = clock.boot()
    let validUntil = clock.wall() + duration
    let sleeps = state.withLock { state -> BootInstant? in
      state.moments.granted(id, by: method, at: now, for: duration)
      events.publish(StepUpGrantedEvent(validUntil: validUntil), account: id)
      return state.planWake()
    }
    if let sleeps { sleep(until: sleeps) }
    return validUntil
  }

  func clear(_ id: AccountID) {
    state.withLock { state in
      if state.moments.clear(id) { events.publish(StepUpExpiredEvent(), account: id) }
    }
  }

  func clearAll() {
    state.withLock { state in
      for id in state.moments.clearAll() { events.publish(StepUpExpiredEvent(), account: id) }
    }
  }

  /// The agent ends, and nobody listens any more.
  func end() { state.withLock { $0.moments = ActiveStepUps() } }

  // MARK: the timer

  private func sleep(until moment: BootInstant) {
    background.startTimer { [self] in
      await clock.sleep(until: moment)
      guard !Task.isCancelled else { return }
      wake(planned: moment)
    }
  }

  private func wake(planned: BootInstant) {
    let next = state.withLock { state -> BootInstant? in
      guard state.wakesAt == planned else { return nil }
      state.wakesAt = nil
      for id in state.moments.expire(at: clock.boot()) { events.publish(StepUpExpiredEvent(), account: id) }
      return state.planWake()
    }
    if let next { sleep(until: next) }
  }
}

extension StepUps.State {
  /// The moment for which a sleeper has to be started; nil if one wakes early enough, or nobody waits.
  fileprivate mutating func planWake() -> BootInstant? {
    guard let earliest = moments.earliest, wakesAt.map({ earliest < $0 }) ?? true else { return nil }
    wakesAt = earliest
    return earliest
  }
}
