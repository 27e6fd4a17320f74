internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Synchronization

/// Where exchanges stand in line before anything of them is written or sent (DESIGN, Tokens: "Wake and reconnect").
/// The queue decides; this wakes whoever may go.
final class ExchangeGate: Sendable {
  typealias Ticket = ExchangeQueue.Ticket

  fileprivate struct State {
    var queue = ExchangeQueue()
    var tickets: Ticket = 0
    var waiting: [Ticket: CheckedContinuation<Bool, Never>] = [:]
    var isClosed = false
    var nextLook: BootInstant?
  }

  private let state = Mutex(State())
  private let clock: any AgentClock
  private let background: BackgroundWork

  init(clock: any AgentClock, background: BackgroundWork) {
    self.clock = clock
    self.background = background
  }

  /// For one exchange.
  func ticket() -> Ticket {
    state.withLock { state in
      state.tickets += 1
      return state.tickets
    }
  }

  /// Returns when the exchange may go: true, and `leave` must follow. False if the agent ends.
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

  /// Somebody waits for it now.
  func want(_ ticket: Ticket) { state.withLock { $0.queue.want(ticket) } }

  func leave(_ ticket: Ticket) {
    for next in state.withLock({ $0.take($0.queue.leave(ticket, at: clock.boot())) }) { next.resume(returning: true) }
    planLook()
  }

  /// The agent ends: who stands in line goes home, with nothing sent.
  func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [:] }
      return state.waiting.sorted { $0.key < $1.key }.map(\.value)
    }
    for one in waiting { one.resume(returning: false) }
  }

  /// Somebody may go when the patience with a slow one ends.
  private func planLook() {
    let next = state.withLock { state -> BootInstant? in
      guard let next = state.queue.nextLook(at: clock.boot()), state.nextLook.map({ next < $0 }) ?? true else {
        return nil
      }
      state.nextLook = next
      return next
    }
    guard let next else { return }
    background.startTimer { [self, clock] in
      await clock.sleep(until: next)
      guard !Task.isCancelled else { return }
      let admitted = state.withLock { state in
        if state.nextLook == next { state.nextLook = nil }
        return state.take(state.queue.look(at: clock.boot()))
      }
      for one in admitted { one.resume(returning: true) }
      planLook()
    }
  }
}

extension ExchangeGate.State {
  fileprivate mutating func take(_ admitted: [ExchangeGate.Ticket]) -> [CheckedContinuation<Bool, Never>] {
    admitted.compactMap { waiting.removeValue(forKey: $0) }
  }
}
