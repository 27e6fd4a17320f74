import AgentCore
import AgentModel
import Testing

@Suite struct OperationQueueTests {
  private let now = Timestamp(milliseconds: 1_000_000)

  private func queue(isConfirmed: Bool = true) -> OperationQueue {
    var queue = OperationQueue()
    if isConfirmed { queue.confirmed() }
    return queue
  }

  private func sent() -> OperationMachine {
    var machine = OperationMachine(.agent, retryWithin: .seconds(100))
    _ = machine.leaves(at: now)
    return machine
  }

  @Test("the provider confirms the account before the first operation")
  func confirmsFirst() {
    let waiting = [OperationMachine(.agent)]
    #expect(queue(isConfirmed: false).next(of: waiting, at: now, isReachable: true) == .confirm)
    #expect(queue().next(of: waiting, at: now, isReachable: true) == .deliver(0))
    #expect(queue(isConfirmed: false).next(of: [], at: now, isReachable: true) == .wait(until: nil))
  }

  @Test("an operation that waits, is sent or needs the person holds up those behind it")
  func order() {
    var paused = sent()
    _ = paused.answered(.init(status: 503, retryAfter: .seconds(5)), at: now, jitter: 0)
    var person = sent()
    _ = person.personWanted()
    var lost = sent()
    _ = lost.lost(at: now, jitter: 0.9)
    let second = OperationMachine(.agent)
    #expect(queue().next(of: [paused, second], at: now, isReachable: true) == .wait(until: now + .seconds(5)))
    #expect(queue().next(of: [sent(), second], at: now, isReachable: true) == .wait(until: nil))
    #expect(queue().next(of: [person, second], at: now, isReachable: true) == .wait(until: nil))
    #expect(queue().next(of: [lost, second], at: now + .seconds(1), isReachable: true) == .deliver(0))
  }

  @Test("an operation that has ended holds up none")
  func ended() {
    var done = sent()
    _ = done.answered(.init(status: 200), at: now, jitter: 0)
    var rejected = sent()
    _ = rejected.answered(.init(status: 404), at: now, jitter: 0)
    var unknown = OperationMachine(.agent)
    _ = unknown.leaves(at: now)
    _ = unknown.lost(at: now, jitter: 0)
    let operations = [done, rejected, unknown, OperationMachine(.agent)]
    #expect(queue().next(of: operations, at: now, isReachable: true) == .deliver(3))
  }

  @Test("an operation of a client waits for none that the agent sends, and is offered")
  func clients() {
    #expect(queue().next(of: [sent(), OperationMachine(.client)], at: now, isReachable: true) == .offer(1))
  }

  @Test("without a network nothing is sent, and time goes on")
  func unreachable() {
    let operations = [OperationMachine(.agent, expiresAt: now + .seconds(9))]
    #expect(queue().next(of: operations, at: now, isReachable: false) == .wait(until: now + .seconds(9)))
    #expect(queue().next(of: operations, at: now + .seconds(9), isReachable: false) == .lapse(0))
  }

  @Test("after a failure of the account nothing goes before the pause, and a reconnect ends it")
  func pauses() {
    var queue = queue()
    queue.failed(at: now, pause: .seconds(30), jitter: 0)
    #expect(queue.next(of: [OperationMachine(.agent)], at: now, isReachable: true) == .wait(until: now + .seconds(30)))
    queue.reconnected()
    #expect(queue.next(of: [OperationMachine(.agent)], at: now, isReachable: true) == .confirm)
  }

  @Test("a full queue loses none that was not delivered")
  func bounds() {
    var done = sent()
    #expect(!done.mayLeave)
    _ = done.answered(.init(status: 200), at: now, jitter: 0)
    #expect(done.mayLeave)
    let full = Array(repeating: (mayLeave: false, bytes: 1), count: OperationBounds.mostOfAccount)
    #expect(OperationBounds.leaving(full, for: 1, others: 0) == nil)
    var roomy = full
    roomy[7].mayLeave = true
    roomy[9].mayLeave = true
    #expect(OperationBounds.leaving(roomy, for: 1, others: 0) == [7])
    #expect(OperationBounds.leaving([], for: 1, others: OperationBounds.mostBytes) == nil)
    #expect(OperationBounds.leaving([], for: 1, others: OperationBounds.mostBytes - 1) == [])
    #expect(OperationBounds.leaving(full, adding: 0, for: 0, others: 0) == [])
    let delivered = Array(repeating: (mayLeave: true, bytes: 1 << 20), count: 10)
    #expect(OperationBounds.leaving(delivered, for: 1, others: 0) == [0, 1])
    let waiting = Array(repeating: (mayLeave: false, bytes: 1 << 20), count: 10)
    #expect(OperationBounds.leaving(waiting, for: 1, others: 0) == [])
    #expect(OperationBounds.leaving(roomy, adding: 0, for: 0, others: OperationBounds.mostBytes - 998) == [7, 9])
  }
}
