import AgentCore
import AgentModel
import Testing

@Suite struct ExchangeQueueTests {
  private let start = BootInstant(milliseconds: 1000)

  @Test func queue_admitsTwoPerIssuerAndFourInAll() {
    var queue = ExchangeQueue()
    var admitted: [UInt64] = []
    for ticket in 1...12 as ClosedRange<UInt64> {
      admitted += queue.enter(ticket, issuer: "issuer\(ticket % 3)", isWanted: false, at: start)
    }
    #expect(admitted == [1, 2, 3, 4])
    // 1 and 4 share an issuer: when 1 leaves, the next ticket of that issuer is third in the queue.
    #expect(queue.leave(2, at: start) == [5])
    #expect(queue.leave(1, at: start) == [6])
  }

  @Test func issuerWithManyTickets_doesNotDelayAnotherIssuer() {
    var queue = ExchangeQueue()
    for ticket in 1...3 as ClosedRange<UInt64> { _ = queue.enter(ticket, issuer: "a", isWanted: true, at: start) }
    #expect(queue.enter(4, issuer: "b", isWanted: false, at: start) == [4], "it is not delayed by a's crowd")
    #expect(queue.leave(1, at: start) == [3])
  }

  @Test func wantedTicket_isAdmittedBeforeUnwantedOnes() {
    var queue = ExchangeQueue()
    for ticket in 1...6 as ClosedRange<UInt64> { _ = queue.enter(ticket, issuer: "a", isWanted: false, at: start) }
    _ = queue.enter(7, issuer: "a", isWanted: true, at: start)
    #expect(queue.want(5, at: start).isEmpty)
    #expect(queue.leave(1, at: start) == [5])
    #expect(queue.leave(2, at: start) == [7])
    #expect(queue.leave(5, at: start) == [3])
  }

  /// Two providers that do not answer must not stop the exchanges of the others.
  @Test func exchangeRunningFiveSeconds_noLongerCountsAgainstTheTotal() {
    var queue = ExchangeQueue()
    for ticket in 1...4 as ClosedRange<UInt64> {
      _ = queue.enter(ticket, issuer: ticket < 3 ? "dead" : "dying", isWanted: true, at: start)
    }
    #expect(queue.enter(5, issuer: "good", isWanted: true, at: start).isEmpty)
    #expect(queue.nextLook(at: start) == start + .seconds(5))
    #expect(queue.look(at: start + .milliseconds(4999)).isEmpty)
    #expect(queue.look(at: start + .seconds(5)) == [5])
    #expect(
      queue.enter(6, issuer: "dead", isWanted: true, at: start + .seconds(6)).isEmpty, "two an issuer all the same")
    #expect(queue.nextLook(at: start + .seconds(6)) == nil, "no admission depends on time")
  }

  @Test func queueWithOtherBounds_keepsThem() {
    var queue = ExchangeQueue(mostForAnIssuer: 3, mostInAll: 5)
    var admitted: [UInt64] = []
    for ticket in 1...9 as ClosedRange<UInt64> {
      admitted += queue.enter(ticket, issuer: ticket < 5 ? "a" : "b", isWanted: true, at: start)
    }
    #expect(admitted == [1, 2, 3, 5, 6])
    #expect(queue.leave(1, at: start) == [4])
  }

  @Test func issuerThatIsAsked_isAskedByNoSecondProbe() {
    var queue = ExchangeQueue()
    queue.isAsked("a", at: start)
    #expect(queue.isSilent("a"))
    _ = queue.enter(1, issuer: "a", isWanted: false, at: start)
    #expect(queue.issuersToAsk(at: start + .seconds(60)).isEmpty)
    queue.didNotAnswer("a", at: start + .seconds(60))
    #expect(queue.issuersToAsk(at: start + .seconds(90)) == ["a"])
  }

  @Test func cancelledTicket_leavesNoGapInTheQueue() {
    var queue = ExchangeQueue()
    for ticket in 1...4 as ClosedRange<UInt64> { _ = queue.enter(ticket, issuer: "a", isWanted: false, at: start) }
    #expect(queue.leave(3, at: start).isEmpty)
    #expect(queue.leave(1, at: start) == [4])
    _ = queue.leave(2, at: start)
    _ = queue.leave(4, at: start)
    #expect(queue.isEmpty)
  }

  @Test func silentIssuer_holdsBackExchangesWithoutACaller() {
    var queue = ExchangeQueue()
    queue.fellSilent("a", at: start)
    #expect(queue.enter(1, issuer: "a", isWanted: false, at: start).isEmpty)
    #expect(queue.enter(2, issuer: "a", isWanted: true, at: start) == [2])
    #expect(queue.enter(3, issuer: "b", isWanted: false, at: start) == [3])
    #expect(queue.enter(4, issuer: "a", isWanted: false, at: start).isEmpty)
    #expect(queue.want(4, at: start) == [4])
    #expect(queue.leave(2, at: start).isEmpty)
    #expect(queue.answered("a", at: start) == [1])
    #expect(!queue.isSilent("a"))
  }

  @Test func silentIssuer_isAskedWithGrowingPausesWhileAnExchangeWaits() {
    var queue = ExchangeQueue()
    queue.fellSilent("a", at: start)
    #expect(queue.nextLook(at: start) == nil, "nothing waits for it")
    _ = queue.enter(1, issuer: "a", isWanted: false, at: start)
    var now = start
    for pause in [15, 30, 60, 120, 240, 300, 300] as [Int64] {
      #expect(queue.nextLook(at: now) == now + .seconds(pause))
      now = now + .seconds(pause)
      #expect(queue.issuersToAsk(at: now) == ["a"])
      #expect(queue.issuersToAsk(at: now).isEmpty && queue.nextLook(at: now) == nil, "it is being asked")
      queue.didNotAnswer("a", at: now)
    }
  }

  /// In random histories: the bounds hold, and every ticket is admitted exactly once.
  @Test func randomHistories_keepBoundsAndAdmitEveryTicketOnce() {
    for seed in 1...500 as ClosedRange<UInt64> {
      var random = TokenMachineProperties.Random(state: seed)
      var queue = ExchangeQueue()
      var (now, next) = (start, UInt64(1))
      var issuer: [UInt64: String] = [:]
      var running: [UInt64: BootInstant] = [:]
      var waiting: Set<UInt64> = []
      func take(_ admitted: [UInt64]) {
        for ticket in admitted {
          #expect(waiting.remove(ticket) != nil, "seed \(seed)")
          running[ticket] = now
        }
        #expect(running.values.count { now < $0 + .seconds(5) } <= 4, "seed \(seed)")
        for name in Set(issuer.values) {
          #expect(running.keys.count { issuer[$0] == name } <= 2, "seed \(seed)")
        }
      }
      for _ in 0..<200 {
        switch Int.random(in: 0..<5, using: &random) {
        case 0, 1:
          issuer[next] = "issuer\(UInt64.random(in: 0..<4, using: &random))"
          waiting.insert(next)
          next += 1
          take(queue.enter(next - 1, issuer: issuer[next - 1]!, isWanted: Bool.random(using: &random), at: now))
        case 2: if let ticket = waiting.min() { take(queue.want(ticket, at: now)) }
        case 3:
          if let ticket = running.keys.min() {
            running[ticket] = nil
            take(queue.leave(ticket, at: now))
          }
        default:
          now = now + Milliseconds(Int64.random(in: 0...7000, using: &random))
          take(queue.look(at: now))
        }
      }
      while let ticket = running.keys.min() {
        running[ticket] = nil
        take(queue.leave(ticket, at: now))
      }
      #expect(waiting.isEmpty && queue.isEmpty, "seed \(seed)")
    }
  }
}

extension Milliseconds {
  static func milliseconds(_ count: Int64) -> Milliseconds { Milliseconds(count) }
}
