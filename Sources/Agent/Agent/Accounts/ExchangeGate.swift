package import AgentCore
internal import AgentModel
package import AgentPorts
internal import Synchronization

/// The queue in which exchanges wait before they write or send anything (docs/tokens.md, Reconnect). `ExchangeQueue`
/// decides the order; `ExchangeGate` resumes the exchanges that may go.
package final class ExchangeGate: Sendable {
  package typealias Ticket = ExchangeQueue.Ticket

  fileprivate struct State {
    var queue = ExchangeQueue()
    var tickets: Ticket = 0
    var waiting: [Ticket: CheckedContinuation<Bool, Never>] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())
  private let clock: any AgentClock
  private let alarm: Alarm

  package init(clock: any AgentClock, background: BackgroundWork) {
    self.clock = clock
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
  package func want(_ ticket: Ticket) { state.withLock { $0.queue.want(ticket) } }

  func leave(_ ticket: Ticket) {
    for next in state.withLock({ $0.take($0.queue.leave(ticket, at: clock.boot())) }) { next.resume(returning: true) }
    planLook()
  }

  /// The agent ends: resumes every exchange in the queue with a refusal, so that it sends nothing.
  func close() {
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
    let (admitted, next) = state.withLock { state in
      let now = clock.boot()
      return (state.take(state.queue.look(at: now)), state.queue.nextLook(at: now))
    }
    for continuation in admitted { continuation.resume(returning: true) }
    return next
  }
}

extension ExchangeGate.State {
  fileprivate mutating func take(_ admitted: [ExchangeGate.Ticket]) -> [CheckedContinuation<Bool, Never>] {
    admitted.compactMap { waiting.removeValue(forKey: $0) }
  }
}
