import AgentPorts
import Synchronization
import Testing

@Suite struct MemoryBudgetTests {
  @Test func sharesAreGrantedInTheOrderOfAsking() {
    let budget = MemoryBudget(bytes: 10)
    let told = Mutex<[Int]>([])
    func ask(_ bytes: Int, _ number: Int) -> MemoryBudget.Share {
      budget.share(bytes) { told.withLock { $0.append(number) } }
    }
    var first: MemoryBudget.Share? = ask(6, 1)
    let second = ask(8, 2)
    // It would fit, but would let a large share wait for ever behind small ones.
    let third = ask(1, 3)
    #expect(first?.isGranted == true && !second.isGranted && !third.isGranted)
    first = nil
    #expect(second.isGranted && third.isGranted && told.withLock { $0 } == [2, 3])
  }

  @Test func shareThatIsGivenUpWhileItWaits_letsTheNextOneGo() {
    let budget = MemoryBudget(bytes: 10)
    let first = budget.share(6) {}
    var second: MemoryBudget.Share? = budget.share(8) {}
    let third = budget.share(4) {}
    #expect(second?.isGranted == false && !third.isGranted)
    second = nil
    #expect(third.isGranted)
    withExtendedLifetime(first) {}
  }

  @Test func shrunkShare_givesBackTheRest() {
    let budget = MemoryBudget(bytes: 10)
    let first = budget.share(10) {}
    let second = budget.share(7) {}
    first.shrink(to: 3)
    #expect(second.isGranted && first.bytes == 3)
    first.shrink(to: 9)
    #expect(first.bytes == 3 && !budget.share(1) {}.isGranted)
  }

  @Test func shareLargerThanTheBudget_isAllOfIt() {
    let budget = MemoryBudget(bytes: 10)
    #expect(budget.share(1000) {}.isGranted)
    #expect(budget.share(10) {}.isGranted, "the whole budget was not given back")
  }

  @Test func limitedCallers_haveHalf_andHoldUpNoOther() {
    let budget = MemoryBudget(bytes: 10)
    var first: MemoryBudget.Share? = budget.share(4, isLimited: true) {}
    let second = budget.share(2, isLimited: true) {}
    #expect(first?.isGranted == true && !second.isGranted)
    let owner = budget.share(5) {}
    #expect(owner.isGranted, "a limited caller that waits holds up the owner")
    let waiting = budget.share(3) {}
    let third = budget.share(1, isLimited: true) {}
    #expect(!waiting.isGranted && !third.isGranted)
    first = nil
    #expect(second.isGranted && waiting.isGranted && !third.isGranted)
    #expect(budget.share(100, isLimited: true) {}.bytes == 5)
  }

  @Test func shareAtOnce_isRefusedWhereItWouldWait() {
    let budget = MemoryBudget(bytes: 10)
    let first = budget.shareAtOnce(5, isLimited: true)
    #expect(first?.isGranted == true)
    #expect(budget.shareAtOnce(1, isLimited: true) == nil, "limited callers have half")
    var second = budget.shareAtOnce(5)
    #expect(second != nil && budget.shareAtOnce(1) == nil)
    second?.shrink(to: 3)
    #expect(budget.shareAtOnce(3) == nil && budget.shareAtOnce(2) != nil)
    second = nil
    #expect(budget.shareAtOnce(11) == nil, "more than all is never granted")
    #expect(budget.shareAtOnce(5) != nil, "a refused share took something")
    withExtendedLifetime(first) {}
  }

  @Test(.timeLimit(.minutes(1))) func sharesThatAreGivenUpWhileOthersAsk_holdUpNothing() async {
    let budget = MemoryBudget(bytes: 10)
    var holder: MemoryBudget.Share? = budget.share(9) {}
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for number in 0..<50_000 { _ = budget.share(number % 2 == 0 ? 7 : 1) {} }
        }
      }
    }
    #expect(holder?.isGranted == true)
    holder = nil
    #expect(budget.share(10) {}.isGranted, "a share was not given back")
  }

  @Test func waitingTask_getsItsShareOrIsCancelled() async {
    let budget = MemoryBudget(bytes: 10)
    var first: MemoryBudget.Share? = await budget.share(10)
    #expect(first?.isGranted == true)
    let cancelled = Task { await budget.share(5) }
    let served = Task { await budget.share(5) }
    cancelled.cancel()
    #expect(await cancelled.value == nil)
    first = nil
    #expect(await served.value?.isGranted == true)
  }
}
