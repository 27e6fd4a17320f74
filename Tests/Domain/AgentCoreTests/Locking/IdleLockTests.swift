import AgentCore
import AgentModel
import Testing

@Suite struct IdleLockTests {
  private func at(_ seconds: Int64) -> BootInstant { BootInstant(milliseconds: seconds * 1000) }

  @Test func unusedVault_locksAtTheIdleLimit() {
    var idle = IdleLock(after: .seconds(60))
    #expect(idle.opened(at: at(0)) == .sleep(until: at(60)))
    #expect(idle.woke(planned: at(60), at: at(60)) == .lock)
  }

  @Test func useDuringTheSleep_postponesTheLock() {
    var idle = IdleLock(after: .seconds(60))
    _ = idle.opened(at: at(0))
    idle.used(at: at(10))
    idle.used(at: at(40))
    #expect(idle.woke(planned: at(60), at: at(60)) == .sleep(until: at(100)))
    #expect(idle.woke(planned: at(100), at: at(100)) == .lock)
  }

  @Test func suspendedMachine_countsAsIdleTime() {
    var idle = IdleLock(after: .seconds(60))
    _ = idle.opened(at: at(0))
    #expect(idle.woke(planned: at(60), at: at(9000)) == .lock)
  }

  @Test func runningRequest_preventsTheIdleLock() {
    var idle = IdleLock(after: .seconds(60))
    _ = idle.opened(at: at(0))
    idle.began(at: at(30))
    idle.began(at: at(31))
    #expect(idle.woke(planned: at(60), at: at(60)) == nil)
    #expect(idle.ended(at: at(200)) == nil)
    #expect(idle.ended(at: at(300)) == .sleep(until: at(360)))
    #expect(idle.woke(planned: at(360), at: at(360)) == .lock)
  }

  @Test func shortRequests_startNoSecondSleeper() {
    var idle = IdleLock(after: .seconds(60))
    _ = idle.opened(at: at(0))
    for second in 1...30 as ClosedRange<Int64> {
      idle.began(at: at(second))
      #expect(idle.ended(at: at(second)) == nil)
    }
    #expect(idle.woke(planned: at(60), at: at(60)) == .sleep(until: at(90)))
  }

  @Test func lockedVault_isNotLockedAgain() {
    var idle = IdleLock(after: .seconds(60))
    _ = idle.opened(at: at(0))
    idle.closed()
    #expect(idle.woke(planned: at(60), at: at(60)) == nil)
    #expect(idle.opened(at: at(100)) == .sleep(until: at(160)))
  }

  @Test func repeatedUnlocking_leavesOneSleeper() {
    var idle = IdleLock(after: .seconds(60))
    #expect(idle.opened(at: at(0)) == .sleep(until: at(60)))
    for second in 1...50 as ClosedRange<Int64> {
      idle.closed()
      #expect(idle.opened(at: at(second)) == nil)
    }
    #expect(idle.woke(planned: at(60), at: at(60)) == .sleep(until: at(110)))
  }

  /// In random orders of events: an open vault without requests always has a sleeper, and is locked exactly at the
  /// limit after its last use.
  @Test func randomHistories_lockAnOpenVaultExactlyAtTheIdleLimit() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<500 {
      var idle = IdleLock(after: .seconds(10))
      var (now, last, underWay, isOpen): (Int64, Int64, Int, Bool) = (0, 0, 0, false)
      var sleepers: Set<Int64> = []
      func follow(_ effect: IdleLock.Effect?) {
        switch effect {
        case .sleep(let until): sleepers.insert(until.milliseconds / 1000)
        case .lock:
          #expect(isOpen && underWay == 0 && now - last == 10)
          idle.closed()
          isOpen = false
        case nil: break
        }
      }
      for _ in 0..<60 {
        switch Int.random(in: 0...5, using: &random) {
        case 0:
          (isOpen, last) = (true, now)
          follow(idle.opened(at: at(now)))
        case 1:
          idle.closed()
          isOpen = false
        case 2:
          idle.used(at: at(now))
          last = now
        case 3:
          idle.began(at: at(now))
          (underWay, last) = (underWay + 1, now)
        case 4 where underWay > 0:
          (underWay, last) = (underWay - 1, now)
          follow(idle.ended(at: at(now)))
        default:
          now += 1
          if sleepers.remove(now) != nil { follow(idle.woke(planned: at(now), at: at(now))) }
        }
        #expect(!isOpen || underWay > 0 || !sleepers.isEmpty)
      }
    }
  }
}
