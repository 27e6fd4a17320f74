import AgentCore
import AgentModel
import Testing

@Suite struct UnlockThrottleTests {
  private func at(_ seconds: Int64) -> BootInstant { BootInstant(milliseconds: seconds * 1000) }

  private func afterWrongOnes(_ count: Int) -> UnlockThrottle {
    var throttle = UnlockThrottle()
    for second in 0..<count {
      _ = throttle.begin(at: at(Int64(second) * 100))
      _ = throttle.wasWrong(at: at(Int64(second) * 100))
    }
    return throttle
  }

  @Test func firstTwoWrongPassphrases_waitForNothing() {
    var throttle = UnlockThrottle()
    for _ in 0..<2 {
      #expect(throttle.begin(at: at(1)) == nil)
      #expect(throttle.wasWrong(at: at(1)) == Milliseconds(1))
    }
    #expect(throttle.begin(at: at(1)) == nil)
    #expect(throttle.wasWrong(at: at(2)) == .seconds(1))
    #expect(throttle.begin(at: at(2)) == .seconds(1))
    #expect(throttle.begin(at: at(3)) == nil)
  }

  @Test func wrongPassphrases_doubleThePauseUpToAMinute() {
    var throttle = UnlockThrottle()
    var pauses: [Int64] = []
    var now: Int64 = 0
    for _ in 0..<12 {
      #expect(throttle.begin(at: at(now)) == nil)
      let pause = throttle.wasWrong(at: at(now)).wholeSeconds
      pauses.append(pause)
      now += max(pause, 1)
    }
    #expect(pauses == [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60])
  }

  @Test func concurrentAttempts_areThrottledTogether() {
    var throttle = UnlockThrottle()
    let judged = (0..<10).filter { _ in throttle.begin(at: at(5)) == nil }.count
    #expect(judged == 3)
  }

  @Test func rightPassphrase_keepsTheCountOfWrongOnes() {
    var throttle = afterWrongOnes(4)
    #expect(throttle.begin(at: at(500)) == nil)
    throttle.wasNotWrong()
    #expect(throttle.begin(at: at(501)) == nil)
    #expect(throttle.wasWrong(at: at(501)) == .seconds(4))
  }

  // MARK: over a restart

  @Test func restartedAgent_keepsThePauseAndTheCount() throws {
    // The fifth wrong one at second 400: a pause of four seconds.
    let text = afterWrongOnes(5).text(bootID: "boot")
    var again = try #require(UnlockThrottle(text: text, at: at(401), bootID: "boot"))
    #expect(again.pause(at: at(401)) == .seconds(3))
    #expect(again.begin(at: at(401)) == .seconds(3))
    #expect(again.begin(at: at(404)) == nil)
    #expect(again.wasWrong(at: at(404)) == .seconds(8), "the count went on")
    var forgiven = try #require(UnlockThrottle(text: text, at: at(400 + 5 * 600), bootID: "boot"))
    #expect(forgiven.begin(at: at(400 + 5 * 600)) == nil)
    #expect(forgiven.wasWrong(at: at(400 + 5 * 600)) == Milliseconds(1))
  }

  @Test func agentKilledWhileItJudged_hasCountedTheAttempt() throws {
    var throttle = afterWrongOnes(4)
    #expect(throttle.begin(at: at(500)) == nil)
    let again = try #require(UnlockThrottle(text: throttle.text(bootID: "boot"), at: at(500), bootID: "boot"))
    #expect(again.pause(at: at(500)) == .seconds(4))
  }

  @Test func reboot_countsThePauseFromTheBoot() throws {
    let text = afterWrongOnes(6).text(bootID: "before")
    var again = try #require(UnlockThrottle(text: text, at: at(3), bootID: "after"))
    #expect(again.pause(at: at(3)) == .seconds(5), "a pause of eight seconds, of which three are over")
    #expect(again.begin(at: at(8)) == nil)
    #expect(again.wasWrong(at: at(8)) == .seconds(16))
    // Ten minutes of the new boot forgive one.
    var later = try #require(UnlockThrottle(text: text, at: at(601), bootID: "after"))
    #expect(later.begin(at: at(601)) == nil)
    #expect(later.wasWrong(at: at(601)) == .seconds(8))
  }

  /// A machine that was put back to an earlier state, or a record that was written from outside.
  @Test(arguments: [
    "lanyard-throttle-1 9223372036854775807 9223372036854775807 9223372036854775807 boot",
    "lanyard-throttle-1 9 -9223372036854775808 9223372036854775807 other",
    "lanyard-throttle-1 150 99999999 99999999 boot",
  ]) func pauseOfARecord_isNeverLongerThanTheLongest(text: String) throws {
    var throttle = try #require(UnlockThrottle(text: text, at: at(1000), bootID: "boot"))
    #expect(throttle.pause(at: at(1000)) ?? .zero <= .seconds(60))
    #expect(throttle.begin(at: at(1060)) == nil)
    #expect(throttle.wasWrong(at: at(1060)) == .seconds(60))
    for second in stride(from: 1120, to: 1120 + 150 * 600, by: 6000) {
      _ = throttle.begin(at: at(Int64(second)))
      throttle.wasNotWrong()
    }
    #expect(throttle.begin(at: at(1120 + 150 * 600)) == nil)
    #expect(throttle.wasWrong(at: at(1120 + 150 * 600)) == Milliseconds(1), "it is forgiven in the end")
  }

  @Test(arguments: [
    "", "lanyard-throttle-1", "lanyard-throttle-1 3 5 boot", "lanyard-throttle-1 -3 5 - boot",
    "lanyard-throttle-1 3 x - boot", "lanyard-throttle-1 3 5 x boot", "lanyard-throttle-2 3 5 - boot",
    "lanyard-throttle-1 3 5 - boot more",
  ]) func damagedRecord_isNone(text: String) {
    #expect(UnlockThrottle(text: text, at: at(10), bootID: "boot") == nil)
  }

  @Test func countInMemoryAndCountOfTheRecord_giveTheStricterOne() {
    var both = UnlockThrottle.stricter(afterWrongOnes(2), afterWrongOnes(5))
    #expect(both.pause(at: at(400)) == .seconds(4))
    both = .stricter(afterWrongOnes(5), afterWrongOnes(2))
    #expect(both.pause(at: at(400)) == .seconds(4))
  }

  @Test func tenMinutesPerWrongPassphrase_clearTheCount() {
    var throttle = afterWrongOnes(5)
    #expect(throttle.begin(at: at(400 + 5 * 600)) == nil)
    #expect(throttle.wasWrong(at: at(400 + 5 * 600)) == Milliseconds(1))
  }
}
