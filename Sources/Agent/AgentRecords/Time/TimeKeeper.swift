package import AgentCore
package import AgentModel
internal import AgentOAuth
package import AgentPorts
package import AgentStore
internal import Synchronization

/// Trusted time for the whole agent, over the machine's clocks. Known while the vault is open.
///
/// Updated by events: at each exchange, query of a session and unlock, and when the kernel reports that the wall clock
/// was set. Its one timer stores the record hourly, so that a power cut costs no window more than that.
package final class TimeKeeper: ProviderClock {
  private struct State {
    /// Nil while the vault is locked: names of providers are sealed.
    var time: TrustedTime?
    /// The clock trust in the last event to subscribers.
    var published = ClockTrust.trusted
  }
  private let state = Mutex(State())
  private let clock: any AgentClock
  private let events: any EventPublishing
  /// Stores the record in the background: the wall clock was set forward, and that must outlast the agent.
  private let remember: @Sendable () -> Void
  /// A provider told another time than the agent counted by: what was answered in its time is not right any more.
  private let wasSet: @Sendable (ProviderName) -> Void
  private let hourly: Alarm
  private let decisions: DecisionCache
  /// The most running time that a kill or a power cut can take from the record.
  static let recordInterval = Milliseconds.seconds(3600)
  /// Between two readings of clocks, in whole milliseconds: those that differ by so little agree.
  private static let readingTime = Milliseconds(10)
  /// Of a `Date`: less is no other time.
  private static let resolution = Milliseconds.seconds(1)

  package init(
    clock: any AgentClock, events: any EventPublishing, background: BackgroundWork,
    decisions: DecisionCache = DecisionCache(), remember: @escaping @Sendable () -> Void,
    wasSet: @escaping @Sendable (ProviderName) -> Void
  ) {
    self.clock = clock
    self.events = events
    self.remember = remember
    self.wasSet = wasSet
    self.decisions = decisions
    hourly = Alarm(clock: clock, background: background)
  }

  private var machine: MachineTime { MachineTime(wall: clock.wall(), boot: clock.boot()) }

  // MARK: the vault

  /// The vault was opened. Returns true if the record should be written: it is of another boot.
  func open(_ record: TrustedTime.Record?) -> Bool {
    let machine = machine
    state.withLock { state in
      state.time = TrustedTime(record, bootID: clock.bootID, at: machine)
      tell(&state, at: machine)
    }
    // Goes on while the vault is locked, where it stores nothing: each unlock would start another timer otherwise.
    hourly.set(machine.boot + Self.recordInterval) { [remember, clock] in
      remember()
      return clock.boot() + Self.recordInterval
    }
    return record.map { $0.bootID != clock.bootID } ?? false
  }

  package func close() { state.withLock { $0.time = nil } }

  /// The record to commit together with any other change; nil while the vault is locked.
  package func record() -> TrustedTime.Record? { state.withLock { $0.time?.record(at: machine) } }

  func forget(_ provider: ProviderName) { state.withLock { $0.time?.forget(provider) } }

  // MARK: queries

  /// Takes the `Date` of a token endpoint's answer. Without a readable `Date` nothing changes.
  package func answered(by provider: ProviderName, date: String?, sentAt: BootInstant, receivedAt: BootInstant) {
    let machine = machine
    guard let date = date.flatMap({ Timestamp(httpDate: $0, now: machine.wall) }) else { return }
    let sample = ServerSample(date: date, sentAt: sentAt, receivedAt: receivedAt)
    change(provider, at: machine) { $0.apply(sample, from: provider, at: machine) }
    decisions.withdrawAll()
  }

  /// Changes the time, and follows a change of the provider's. Nil while the vault is locked.
  @discardableResult
  private func change<Result: Sendable>(
    _ provider: ProviderName, at machine: MachineTime, _ body: (inout TrustedTime) -> Result
  ) -> Result? {
    let (result, moved) = state.withLock { state -> (Result?, Milliseconds) in
      guard var time = state.time else { return (nil, .zero) }
      let before = time.reading(for: provider, at: machine).now
      let result = body(&time)
      let after = time.reading(for: provider, at: machine).now
      state.time = time
      tell(&state, at: machine)
      return (result, max(after - before, before - after))
    }
    if moved > Self.resolution {
      decisions.withdrawAll()
      wasSet(provider)
    }
    return result
  }

  /// `instant`: the account's confirmation, for which the clock is judged.
  package func reading(for provider: ProviderName, since instant: TrustedInstant? = nil) -> ProviderTime {
    reading(for: provider, since: instant, at: machine)
  }

  /// The time for the accounts of a provider.
  package func now(for provider: ProviderName) -> Timestamp { reading(for: provider).now }

  /// See `TrustedTime.calendarTime`.
  package func calendarTime(of provider: ProviderName) -> Timestamp {
    let machine = machine
    return state.withLock { $0.time?.calendarTime(of: provider, at: machine) } ?? machine.wall
  }

  /// See `TrustedTime.highWater`.
  package func highWater(of provider: ProviderName) -> Timestamp {
    let machine = machine
    return state.withLock { $0.time?.highWater(of: provider, at: machine) } ?? machine.wall
  }

  /// A moment of the boot clock on a provider's timeline: all instants of an answer about an account stand on that one,
  /// so that a client may subtract them.
  package func moment(_ boot: BootInstant, of provider: ProviderName) -> Timestamp {
    let machine = machine
    return reading(for: provider, at: machine).now + (boot - machine.boot)
  }

  /// A moment of a provider's timeline as the wall clock shows it now, for answers about the accounts of all providers: a
  /// client may compare and subtract them.
  package func wall(_ instant: Timestamp, of provider: ProviderName) -> Timestamp {
    let machine = machine
    let difference = machine.wall - reading(for: provider, at: machine).now
    return max(difference, .zero - difference) <= Self.readingTime ? instant : instant + difference
  }

  private func reading(
    for provider: ProviderName, since instant: TrustedInstant? = nil, at machine: MachineTime
  ) -> ProviderTime {
    let (reading, hasJumped) = state.withLock { state in
      let hasJumped = tell(&state, at: machine)
      // While the vault is locked only older work asks for the time, and the wall clock is enough for it.
      let reading = state.time?.reading(for: provider, since: instant, at: machine)
      return (
        reading ?? ProviderTime(now: machine.wall, clock: .trusted, behind: .zero, serverTimeOffset: nil), hasJumped
      )
    }
    if hasJumped { remember() }
    return reading
  }

  /// The age of a provider's confirmation, for offline windows; T1 and T2 of `TrustedTime` hold.
  package func elapsed(since instant: TrustedInstant, by provider: ProviderName) -> Milliseconds {
    let machine = machine
    return state.withLock { $0.time?.elapsed(since: instant, by: provider, at: machine) }
      ?? max(.zero, machine.wall - instant.time)
  }

  /// The current moment, for records without a provider; nil while the vault is locked.
  package func moment() -> TrustedInstant? {
    let machine = machine
    return state.withLock { $0.time?.moment(at: machine) }
  }

  /// The time since a moment that no provider confirmed.
  package func elapsed(since moment: TrustedInstant) -> Milliseconds {
    let machine = machine
    // Advances the mark, so that a moment's end stays. Tells no subscriber: callers hold a lock that publishing takes.
    let (elapsed, hasJumped) = state.withLock { state in
      let hasJumped = state.time?.advance(to: machine) ?? false
      return (state.time?.elapsed(since: moment, at: machine), hasJumped)
    }
    if hasJumped { remember() }
    return elapsed ?? max(.zero, machine.wall - moment.time)
  }

  /// A moment that no provider confirmed, by the wall clock as it is set now, and what comes `later` than it.
  package func wall(_ moment: TrustedInstant, later: Milliseconds = .zero) -> Timestamp {
    clock.wall(ago: elapsed(since: moment), dated: moment.time) + later
  }

  /// A provider confirmed an account by the answer to a request that was sent at `sentAt`, in this boot.
  func confirmed(by provider: ProviderName, sentAt: BootInstant) -> TrustedInstant? {
    let machine = machine
    return change(provider, at: machine) { $0.confirmed(by: provider, at: sentAt, now: machine) }
  }

  /// The wall clock may have been set. Cheap, so that every wake-up of the agent calls it.
  package func clockMayHaveChanged() {
    let machine = machine
    if state.withLock({ tell(&$0, at: machine) }) { remember() }
  }

  /// Sends one event when the wall clock begins to contradict the trusted time, and one when it no longer does.
  /// Publishes within the lock, so that subscribers get the events in their order. Returns true if the wall clock has
  /// run ahead of a mark.
  @discardableResult
  private func tell(_ state: inout State, at machine: MachineTime) -> Bool {
    guard let hasJumped = state.time?.advance(to: machine) else { return false }
    let behind = state.time?.behind(at: machine)
    let clock: ClockTrust = behind == nil ? .trusted : .suspect
    if clock != state.published {
      state.published = clock
      decisions.withdrawAll()
      events.publish(
        .clockSuspect(clock, behind: behind))
    }
    return hasJumped
  }
}
