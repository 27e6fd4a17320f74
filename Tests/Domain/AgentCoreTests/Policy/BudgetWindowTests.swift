import AgentCore
import AgentModel
import Testing

@Suite("Budgets")
struct BudgetWindowTests {
  private let start = BootInstant(milliseconds: 1_000_000)

  private func window() -> BudgetWindow { BudgetWindow(at: start, bootID: "one") }

  @Test func lastUse_isFreeAfterSixtyMinutes_andNotBefore() {
    var window = window()
    for _ in 0..<3 {
      #expect(window.wait(perHour: 3) == nil)
      window.take()
    }
    #expect(window.wait(perHour: 3) == .seconds(61 * 60))
    window.advance(to: start + .seconds(3600), bootID: "one")
    #expect(window.wait(perHour: 3) == .seconds(60))
    window.advance(to: start + .seconds(3660), bootID: "one")
    #expect(window.wait(perHour: 3) == nil)
    #expect(window.counts.reduce(0, +) == 0)
  }

  @Test func lowerBudget_waitsForAsManyUsesAsAreOverIt() {
    var window = window()
    window.take()
    window.advance(to: start + .seconds(600), bootID: "one")
    window.take()
    #expect(window.wait(perHour: 2) == .seconds(51 * 60))
    #expect(window.wait(perHour: 1) == .seconds(61 * 60))
  }

  @Test func reboot_countsTheUptimeAlone() {
    var window = window()
    window.take()
    window.advance(to: BootInstant(milliseconds: 120_000), bootID: "two")
    #expect(window.wait(perHour: 1) == .seconds(59 * 60))
    // The same moment again passes no time.
    window.advance(to: BootInstant(milliseconds: 120_000), bootID: "two")
    #expect(window.wait(perHour: 1) == .seconds(59 * 60))
  }

  @Test func longPause_emptiesIt_andItsSizeStays() {
    var window = window()
    window.take()
    window.advance(to: start + .seconds(1 << 40), bootID: "one")
    #expect(window.counts == Array(repeating: 0, count: BudgetWindow.minutes))
  }

  /// B1, in random schedules.
  @Test func noSixtyMinutes_haveMoreUsesThanTheBudget() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<50 {
      let budget = Int64.random(in: 1...5, using: &generator)
      var window = window()
      var now = start
      var uses: [BootInstant] = []
      for _ in 0..<300 {
        now = now + Milliseconds(Int64.random(in: 0...600_000, using: &generator))
        window.advance(to: now, bootID: "one")
        guard window.wait(perHour: budget) == nil else { continue }
        window.take()
        uses.append(now)
        #expect(uses.count { now - $0 <= .seconds(3600) } <= budget)
      }
      #expect(uses.count > 10)
    }
  }

  @Test func storedCounters_thatNoneHas_areRefused() {
    #expect(BudgetWindow(at: start, bootID: "one", elapsed: .zero, counts: [1]) == nil)
    let counts = Array(repeating: Int64(0), count: BudgetWindow.minutes)
    #expect(BudgetWindow(at: start, bootID: "one", elapsed: .seconds(60), counts: counts) == nil)
    #expect(BudgetWindow(at: start, bootID: "one", elapsed: .zero, counts: counts) == window())
  }
}
