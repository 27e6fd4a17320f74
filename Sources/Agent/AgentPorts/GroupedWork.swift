internal import Synchronization

/// Does work for several callers at once: those that come while a group is under way share the next one.
///
/// The first caller of a group works for all of it, and hands over to a caller of the next one: no caller works for
/// groups that came after its own, and none needs a task beside its own.
package final class GroupedWork<Request: Sendable, Answer: Sendable>: Sendable {
  /// Returns as many answers as it got requests, in their order.
  package typealias Work = @Sendable ([Request]) async -> [Answer]

  private enum Turn: Sendable {
    case answer(Answer)
    /// Work for the group that waits.
    case lead
  }
  private typealias Caller = CheckedContinuation<Turn, Never>
  private struct Waiting {
    var request: Request
    /// Nil for the caller that leads.
    var caller: Caller?
  }
  private struct State {
    var queue: [Waiting] = []
    var isUnderWay = false

    /// The caller that leads the group that waits; nil without one.
    mutating func nextLeader() -> Caller? {
      isUnderWay = !queue.isEmpty
      return queue.isEmpty ? nil : queue[0].caller.take()
    }
  }
  private let state = Mutex(State())
  private let work: Work

  package init(_ work: @escaping Work) { self.work = work }

  package func callAsFunction(_ request: Request) async -> Answer {
    let turn: Turn = await withCheckedContinuation { caller in
      let leader = state.withLock { state -> Caller? in
        state.queue.append(Waiting(request: request, caller: caller))
        return state.isUnderWay ? nil : state.nextLeader()
      }
      leader?.resume(returning: .lead)
    }
    switch turn {
    case .answer(let answer): return answer
    case .lead: return await lead()
    }
  }

  /// Works for the group that waits; returns the answer of the caller that leads it.
  private func lead() async -> Answer {
    let group = state.withLock { state in
      defer { state.queue = [] }
      return state.queue
    }
    let answers = await work(group.map(\.request))
    state.withLock { $0.nextLeader() }?.resume(returning: .lead)
    for (waiting, answer) in zip(group, answers) { waiting.caller?.resume(returning: .answer(answer)) }
    return answers[0]
  }
}
