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

  @Test func tenMinutesPerWrongPassphrase_clearTheCount() {
    var throttle = afterWrongOnes(5)
    #expect(throttle.begin(at: at(400 + 5 * 600)) == nil)
    #expect(throttle.wasWrong(at: at(400 + 5 * 600)) == Milliseconds(1))
  }
}
