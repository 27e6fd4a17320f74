package import AgentCore
internal import AgentModel
package import AgentPorts
package import AgentRecords
package import AgentStore
internal import Synchronization

/// The queue in which exchanges wait before they write or send anything (docs/tokens.md, Reconnect). `ExchangeQueue`
/// decides the order; `ExchangeGate` resumes the exchanges that may go.
package final class ExchangeGate: Sendable {
  package typealias Ticket = ExchangeQueue.Ticket

  fileprivate struct State {
    var queue: ExchangeQueue
    var tickets: Ticket = 0
    var waiting: [Ticket: CheckedContinuation<Bool, Never>] = [:]
    var isClosed = false
    /// How to ask a silent issuer for a sign of life; true if it answers.
    var probes: [String: @Sendable () async -> Bool] = [:]
  }

  private let state: Mutex<State>
  private let clock: any AgentClock
  private let alarm: Alarm
  private let background: BackgroundWork

  package init(clock: any AgentClock, background: BackgroundWork, queue: ExchangeQueue = ExchangeQueue()) {
    state = Mutex(State(queue: queue))
    self.clock = clock
    self.background = background
    alarm = Alarm(clock: clock, background: background)
  }

  /// A ticket for one exchange.
  func ticket() -> Ticket {
    state.withLock { state in
      state.tickets += 1
      return state.tickets
    }
  }

  /// Waits until the exchange may begin: true, and `leave` must follow. False if the agent ends.
  func enter(_ ticket: Ticket, issuer: String, isWanted: Bool) async -> Bool {
    await withCheckedContinuation { continuation in
      let (admitted, isClosed) = state.withLock { state -> ([CheckedContinuation<Bool, Never>], Bool) in
        if state.isClosed { return ([], true) }
        state.waiting[ticket] = continuation
        return (
          state.take(state.queue.enter(ticket, issuer: issuer, isWanted: isWanted, at: clock.boot())), false
        )
      }
      if isClosed { continuation.resume(returning: false) }
      for next in admitted { next.resume(returning: true) }
      planLook()
    }
  }

  /// A caller now waits for the exchange with this ticket.
  func want(_ ticket: Ticket) { admit { queue, now in queue.want(ticket, at: now) } }

  func leave(_ ticket: Ticket) {
    admit { queue, now in queue.leave(ticket, at: now) }
    planLook()
  }

  /// Runs `work` in the turn of a caller that waits. Throws if the agent ends first, or if the caller has gone by then.
  package func pass<Result>(
    _ issuer: String, _ work: () async throws(AgentFailure) -> Result
  ) async throws(AgentFailure) -> Result {
    let ticket = self.ticket()
    guard await enter(ticket, issuer: issuer, isWanted: true) else { throw .shuttingDown }
    defer { leave(ticket) }
    if BackgroundWork.isUnwanted { throw .cancelled }
    return try await work()
  }

  private func admit(_ change: (inout ExchangeQueue, BootInstant) -> [Ticket]) {
    let admitted = state.withLock { state in
      let tickets = change(&state.queue, clock.boot())
      return state.take(tickets)
    }
    for next in admitted { next.resume(returning: true) }
  }

  // MARK: silent issuers

  /// How many exchanges wait, and how many issuers are silent.
  package var load: (waiting: Int, silentIssuers: Int) {
    state.withLock { ($0.queue.waitingCount, $0.queue.silentCount) }
  }

  func isSilent(_ issuer: String) -> Bool { state.withLock { $0.queue.isSilent(issuer) } }

  /// A request to the issuer got no answer in time. `probe` asks the issuer for a sign of life.
  func fellSilent(_ issuer: String, probe: @escaping @Sendable () async -> Bool) {
    state.withLock { state in
      state.queue.fellSilent(issuer, at: clock.boot())
      state.probes[issuer] = probe
    }
    planLook()
  }

  /// The issuer answered something.
  package func answered(_ issuer: String) {
    state.withLock { $0.probes[issuer] = nil }
    admit { queue, now in queue.answered(issuer, at: now) }
    planLook()
  }

  /// The network may be back.
  package func reconnected() {
    state.withLock { $0.queue.reconnected(at: clock.boot()) }
    planLook()
  }

  /// True if the issuer is not silent, or answers now.
  func answers(_ issuer: String) async -> Bool {
    guard let probe = state.withLock({ $0.queue.isSilent(issuer) ? $0.probes[issuer] : nil }) else { return true }
    return await answers(issuer, probe)
  }

  /// True if the issuer answers `probe`, or anything else meanwhile. It is silent until then: an answer to another
  /// exchange ends the silence, and a probe that fails after that begins no new one.
  package func answers(_ issuer: String, _ probe: @escaping @Sendable () async -> Bool) async -> Bool {
    state.withLock { state in
      state.queue.isAsked(issuer, at: clock.boot())
      state.probes[issuer] = probe
    }
    guard await probe() else {
      state.withLock { $0.queue.didNotAnswer(issuer, at: clock.boot()) }
      planLook()
      return !isSilent(issuer)
    }
    answered(issuer)
    return true
  }

  /// The agent ends: resumes every exchange in the queue with a refusal, so that it sends nothing.
  package func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [:] }
      return state.waiting.sorted { $0.key < $1.key }.map(\.value)
    }
    for one in waiting { one.resume(returning: false) }
  }

  /// The queue may admit the next ticket when its patience with a slow exchange ends.
  private func planLook() {
    guard let next = state.withLock({ $0.queue.nextLook(at: clock.boot()) }) else { return }
    alarm.set(next) { [self] in look() }
  }

  private func look() -> BootInstant? {
    let (admitted, silent, next) = state.withLock { state in
      let now = clock.boot()
      let admitted = state.take(state.queue.look(at: now))
      let silent = state.queue.issuersToAsk(at: now)
      return (admitted, silent, state.queue.nextLook(at: now))
    }
    for continuation in admitted { continuation.resume(returning: true) }
    for issuer in silent { background.start { _ = await self.answers(issuer) } }
    return next
  }
}

extension ExchangeGate.State {
  fileprivate mutating func take(_ admitted: [ExchangeGate.Ticket]) -> [CheckedContinuation<Bool, Never>] {
    admitted.compactMap { waiting.removeValue(forKey: $0) }
  }
}
