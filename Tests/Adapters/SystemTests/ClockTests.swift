import AgentModel
import Foundation
import SystemAdapters
import Testing

@Suite struct SystemClockTests {
  let clock = SystemClock()

  @Test func bootTime_isTheKernelsAndNeverGoesBack() {
    var now = timespec()
    clock_gettime(CLOCK_BOOTTIME, &now)
    let before = Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    let (first, second) = (clock.boot(), clock.boot())
    #expect(first.milliseconds >= before && first.milliseconds < before + 60_000)
    #expect(second >= first)
  }

  @Test func wallTime_isTheKernels() {
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    #expect(abs(clock.wall().milliseconds - now) < 60_000)
  }

  @Test func bootID_isTheKernels() throws {
    let id = try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
    #expect(clock.bootID == id.trimmingCharacters(in: .whitespacesAndNewlines))
  }

  @Test func sleepUntilThePast_returnsAtOnce() async {
    let before = clock.boot()
    await clock.sleep(until: BootInstant(milliseconds: 0))
    await clock.sleep(until: before)
    #expect(clock.boot() - before < .seconds(5))
  }

  @Test func sleep_endsNoEarlierThanItsDeadline() async {
    let deadline = clock.boot() + Milliseconds(30)
    await clock.sleep(until: deadline)
    #expect(clock.boot() >= deadline)
  }

  @Test(.timeLimit(.minutes(1)), arguments: [1_000_000_000, Int64.max])
  func cancelledSleep_endsAtOnce(milliseconds: Int64) async {
    let clock = clock
    await withTaskGroup { group in
      group.addTask { await clock.sleep(until: BootInstant(milliseconds: milliseconds)) }
      group.cancelAll()
    }
  }
}
