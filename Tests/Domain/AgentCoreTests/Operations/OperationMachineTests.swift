import AgentCore
import AgentModel
import Testing

@Suite struct OperationMachineTests {
  private let start = Timestamp(milliseconds: 1_000_000)

  private func sent(
    isRead: Bool = false, retryWithin: Milliseconds? = nil, expiresAt: Timestamp? = nil
  ) -> OperationMachine {
    var machine = OperationMachine(.agent, isRead: isRead, retryWithin: retryWithin, expiresAt: expiresAt)
    _ = machine.leaves(at: start)
    return machine
  }

  @Test("a request leaves once, and its status is told with the state that is stored")
  func leaving() {
    var machine = OperationMachine(.agent)
    let effects = machine.leaves(at: start)
    #expect(effects == [.store, .tell(previous: .queued)])
    #expect(machine.state == .sending)
    #expect(machine.attempts == 1)
    let again = machine.leaves(at: start)
    #expect(again == [])
    #expect(machine.attempts == 1)
  }

  @Test(
    "a 2xx is done, a 409 and a 412 are conflicts, any other refusal is the server's",
    arguments: [
      (200, OperationMachine.State.done), (204, .done), (409, .rejected(.conflict)), (412, .rejected(.conflict)),
      (400, .rejected(.server)), (401, .rejected(.server)), (403, .rejected(.server)), (302, .rejected(.server)),
      (501, .rejected(.server)),
    ])
  func ends(status: Int, state: OperationMachine.State) {
    var machine = sent()
    _ = machine.answered(.init(status: status), at: start, jitter: 0.5)
    #expect(machine.state == state)
  }

  @Test("a 429 and a 503 wait as long as Retry-After says, and at most an hour")
  func retryAfter() {
    for status in [429, 503] {
      var machine = sent()
      _ = machine.answered(.init(status: status, retryAfter: .seconds(7)), at: start, jitter: 0.5)
      #expect(machine.state == .queued(notBefore: start + .seconds(7)))
      _ = machine.leaves(at: start + .seconds(7))
      _ = machine.answered(.init(status: status, retryAfter: .seconds(1 << 31)), at: start, jitter: 0.5)
      #expect(machine.state == .queued(notBefore: start + .seconds(3600)))
    }
    for status in [429, 500, 503] {
      var machine = sent()
      _ = machine.answered(.init(status: status, retryAfter: .zero), at: start, jitter: 0.5)
      #expect(machine.state == .queued(notBefore: start + .seconds(1)))
    }
    var machine = sent()
    _ = machine.answered(.init(status: 429), at: start, jitter: 0.5)
    #expect(machine.state == .queued(notBefore: start + .seconds(60)))
  }

  @Test("a 500 is tried again with pauses, and rejected at last")
  func serverErrors() {
    var machine = sent()
    for _ in 1..<OperationMachine.mostServerErrors {
      _ = machine.answered(.init(status: 500), at: start, jitter: 0.5)
      #expect(machine.status == .queued)
      _ = machine.leaves(at: start)
    }
    _ = machine.answered(.init(status: 500), at: start, jitter: 0.5)
    #expect(machine.state == .rejected(.server))
  }

  @Test("a write whose answer was lost is not sent again without retryWithinSeconds")
  func lostWrite() {
    var machine = sent()
    _ = machine.lost(at: start, jitter: 0.5)
    #expect(machine.state == .unknown(retryAt: nil))
    let effects = machine.leaves(at: start + .seconds(1))
    #expect(effects == [])
    #expect(!machine.isPending)
  }

  @Test("a write whose answer was lost is sent again within retryWithinSeconds of its first attempt, and not after")
  func lostWriteInTime() {
    var machine = sent(retryWithin: .seconds(10))
    _ = machine.lost(at: start + .seconds(1), jitter: 0)
    #expect(machine.state == .unknown(retryAt: start + Milliseconds(1666)))
    _ = machine.leaves(at: start + .seconds(10))
    #expect(machine.state == .sending)
    _ = machine.lost(at: start + .seconds(11), jitter: 0)
    #expect(machine.state == .unknown(retryAt: nil))
  }

  @Test("a write that waits to be sent again is given up when its time is over meanwhile")
  func lostWriteTooLate() {
    var machine = sent(retryWithin: .seconds(10))
    _ = machine.lost(at: start, jitter: 0)
    let early = machine.leaves(at: start + .seconds(11))
    #expect(early == [])
    _ = machine.lapsed(at: start + .seconds(11))
    #expect(machine.state == .unknown(retryAt: nil))
  }

  @Test("a read whose answer was lost is sent again, and not for ever")
  func lostRead() {
    var machine = sent(isRead: true)
    var sendings = 1
    while true {
      _ = machine.lost(at: start, jitter: 0)
      guard case .unknown(.some(let again)) = machine.state else { break }
      _ = machine.leaves(at: again)
      sendings += 1
    }
    #expect(sendings == OperationMachine.mostLostReads)
  }

  @Test("a 502 and a 504 tell nothing of the outcome", arguments: [502, 504])
  func gateways(status: Int) {
    var machine = sent()
    _ = machine.answered(.init(status: status), at: start, jitter: 0.5)
    #expect(machine.state == .unknown(retryAt: nil))
  }

  @Test("an operation that may have been performed is never rejected for want of time or permission")
  func doubtStays() {
    var late = sent(retryWithin: .seconds(100), expiresAt: start + .seconds(20))
    _ = late.lost(at: start, jitter: 0)
    _ = late.leaves(at: start + .seconds(1))
    _ = late.answered(.init(status: 503, retryAfter: .seconds(5)), at: start + .seconds(1), jitter: 0)
    #expect(late.state == .unknown(retryAt: start + .seconds(6)))
    _ = late.lapsed(at: start + .seconds(20))
    #expect(late.state == .unknown(retryAt: nil))

    var denied = sent(retryWithin: .seconds(100))
    _ = denied.lost(at: start, jitter: 0)
    _ = denied.denied()
    #expect(denied.state == .unknown(retryAt: nil))
  }

  @Test("an operation that was not sent is rejected as expired at its time")
  func expiry() {
    var machine = OperationMachine(.agent, expiresAt: start + .seconds(1))
    let before = machine.lapsed(at: start)
    #expect(before == [])
    _ = machine.lapsed(at: start + .seconds(1))
    #expect(machine.state == .rejected(.expired))
  }

  @Test("after a death in the middle a request is in doubt, and a claim is over")
  func deaths() {
    var request = sent(retryWithin: .seconds(10))
    _ = request.interrupted(at: start + .seconds(1))
    #expect(request.state == .unknown(retryAt: start + .seconds(1)))
    var claimed = OperationMachine(.client)
    _ = claimed.offered()
    _ = claimed.claimed("one")
    _ = claimed.interrupted(at: start)
    #expect(claimed.state == .ready)
  }

  @Test("only the claim that holds an operation settles it")
  func claims() {
    var machine = OperationMachine(.client)
    _ = machine.offered()
    _ = machine.claimed("one")
    let second = machine.claimed("two")
    #expect(second == [])
    _ = machine.released("one")
    _ = machine.claimed("two")
    let stale = machine.settled(.done, by: "one")
    #expect(stale == [])
    _ = machine.settled(.retry, by: "two")
    #expect(machine.state == .ready)
  }

  @Test("what is being sent or is claimed can't be cancelled, anything else can")
  func cancelling() {
    var machine = sent()
    let refused = machine.cancelled()
    #expect(refused == [])
    _ = machine.lost(at: start, jitter: 0)
    let effects = machine.cancelled()
    #expect(effects == [.store, .tell(previous: .unknown)])
  }

  @Test("a retry by the person forgets doubts, and an expiry that has passed")
  func retries() {
    var machine = OperationMachine(.agent, retryWithin: .seconds(5), expiresAt: start)
    _ = machine.lapsed(at: start)
    let effects = machine.retried(at: start + .seconds(1))
    #expect(effects == [.store, .tell(previous: .rejected)])
    #expect(machine.lapse == nil)
    _ = machine.leaves(at: start + .seconds(100))
    #expect(machine.firstSentAt == start + .seconds(100))
  }

  @Test("an operation that a client may claim waits for the person, one that it has claimed does not")
  func personWantedByTheClaim() {
    var machine = OperationMachine(.client)
    _ = machine.offered()
    let effects = machine.personWanted()
    #expect(effects == [.store, .tell(previous: .ready)])
    _ = machine.signedInAgain()
    _ = machine.offered()
    _ = machine.claimed("one")
    let none = machine.personWanted()
    #expect(none == [])
    #expect(machine.state == .claimed("one"))
  }

  @Test("after a sign-in an operation that waited for the person waits for its turn")
  func person() {
    var machine = sent()
    _ = machine.personWanted()
    #expect(machine.status == .needsInteraction)
    _ = machine.signedInAgain()
    #expect(machine.state == .queued(notBefore: nil))
  }
}
