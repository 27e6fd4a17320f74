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

  private func entries(_ machines: OperationMachine...) -> [OperationQueue.Entry] { machines.map { .init($0) } }

  private func sent() -> OperationMachine {
    var machine = OperationMachine(.agent, retryWithin: .seconds(100))
    _ = machine.leaves(at: now)
    return machine
  }

  @Test("the provider confirms the account before the first operation")
  func confirmsFirst() {
    let waiting = entries(OperationMachine(.agent))
    #expect(queue(isConfirmed: false).next(of: waiting, at: now, isReachable: true) == .confirm)
    #expect(queue().next(of: waiting, at: now, isReachable: true) == .deliver(0))
    #expect(queue(isConfirmed: false).next(of: entries(), at: now, isReachable: true) == .wait(until: nil))
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
    #expect(queue().next(of: entries(paused, second), at: now, isReachable: true) == .wait(until: now + .seconds(5)))
    #expect(queue().next(of: entries(sent(), second), at: now, isReachable: true) == .wait(until: nil))
    #expect(queue().next(of: entries(person, second), at: now, isReachable: true) == .wait(until: nil))
    #expect(queue().next(of: entries(lost, second), at: now + .seconds(1), isReachable: true) == .deliver(0))
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
    let operations = entries(done, rejected, unknown, OperationMachine(.agent))
    #expect(queue().next(of: operations, at: now, isReachable: true) == .deliver(3))
  }

  @Test("an operation of a client waits for none that the agent sends, and is offered")
  func clients() {
    #expect(queue().next(of: entries(sent(), OperationMachine(.client)), at: now, isReachable: true) == .offer(1))
  }

  @Test("without a network nothing is sent, and time goes on")
  func unreachable() {
    let operations = entries(OperationMachine(.agent, expiresAt: now + .seconds(9)))
    #expect(queue().next(of: operations, at: now, isReachable: false) == .wait(until: now + .seconds(9)))
    #expect(queue().next(of: operations, at: now + .seconds(9), isReachable: false) == .lapse(0))
  }

  @Test("after a failure of the account nothing goes before the pause, and a reconnect ends it")
  func pauses() {
    var queue = queue()
    queue.failed(nil, at: now, pause: .seconds(30), jitter: 0)
    #expect(
      queue.next(of: entries(OperationMachine(.agent)), at: now, isReachable: true) == .wait(until: now + .seconds(30)))
    queue.reconnected()
    #expect(queue.next(of: entries(OperationMachine(.agent)), at: now, isReachable: true) == .confirm)
  }

  @Test("a pause that was set while the clock was ahead holds up nothing once the clock is right")
  func pausesOfAClockThatWasAhead() {
    let right = now + .seconds(-86_400)
    let operations = entries(paused())
    #expect(queue().next(of: operations, at: right, isReachable: true) == .deliver(0))
    var queue = queue()
    queue.failed(.owner, at: now, pause: .seconds(30), isElsewhere: true, jitter: 0)
    #expect(queue.next(of: operations, at: right, isReachable: true) == .deliver(0))
    queue.failed(nil, at: now, pause: .seconds(30), isElsewhere: true, jitter: 0)
    #expect(queue.next(of: operations, at: right, isReachable: true) == .deliver(0))
    queue.failed(nil, at: right, pause: .seconds(7200), isElsewhere: true, jitter: 0)
    #expect(
      queue.next(of: operations, at: right, isReachable: true) == .wait(until: right + OperationMachine.longestPause))
  }

  // MARK: callers

  private let bot = OperationCaller(grants: ["grt_bot"])
  private let other = OperationCaller(grants: ["grt_other"])

  private func paused() -> OperationMachine {
    var paused = sent()
    _ = paused.answered(.init(status: 503, retryAfter: .seconds(5)), at: now, jitter: 0)
    return paused
  }

  @Test("an operation of a limited caller holds up its own, and neither the owner's nor another caller's")
  func callersAreApart() {
    let agent = OperationMachine(.agent)
    let own = [OperationQueue.Entry(paused(), of: bot), .init(agent, of: bot)]
    #expect(queue().next(of: own, at: now, isReachable: true) == .wait(until: now + .seconds(5)))
    #expect(queue().next(of: own + [.init(agent)], at: now, isReachable: true) == .deliver(2))
    #expect(queue().next(of: own + [.init(agent, of: other)], at: now, isReachable: true) == .deliver(2))
    #expect(
      queue().next(of: [.init(paused()), .init(agent), .init(agent, of: bot)], at: now, isReachable: true)
        == .deliver(2))
  }

  @Test("an operation of the owner goes before those that limited callers enqueued earlier")
  func ownerFirst() {
    let agent = OperationMachine(.agent)
    let operations = [OperationQueue.Entry(agent, of: bot), .init(agent, of: other), .init(agent)]
    #expect(queue().next(of: operations, at: now, isReachable: true) == .deliver(2))
    #expect(queue().next(of: Array(operations.dropLast()), at: now, isReachable: true) == .deliver(0))
  }

  @Test("a failure of one caller's operation pauses that caller alone")
  func callerPauses() {
    var queue = queue()
    queue.failed(bot, at: now, pause: .seconds(30), isElsewhere: true, jitter: 0)
    let agent = OperationMachine(.agent)
    let limited = [OperationQueue.Entry(agent, of: bot), .init(OperationMachine(.client), of: bot)]
    #expect(queue.next(of: limited, at: now, isReachable: true) == .wait(until: now + .seconds(30)))
    #expect(queue.next(of: limited + [.init(agent)], at: now, isReachable: true) == .deliver(2))
    #expect(queue.next(of: limited, at: now + .seconds(30), isReachable: true) == .offer(1))
    queue.answered(bot)
    #expect(queue.next(of: limited, at: now, isReachable: true) == .offer(1))
    queue.failed(nil, at: now, pause: .seconds(30), isElsewhere: true, jitter: 0)
    #expect(queue.next(of: limited + [.init(agent)], at: now, isReachable: true) == .wait(until: now + .seconds(30)))
  }
}
