import AgentCore
import AgentModel
import Testing

@Suite struct PauseTests {
  @Test func backoffCeiling_doublesFromOneSecondToFiveMinutes() {
    let ceilings = (1...12).map { Backoff.pause(failures: $0, jitter: 1).count / 1000 }
    #expect(ceilings == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
    for failures in [-1, 0, 100, .max] {
      #expect((0...300_000).contains(Backoff.pause(failures: failures, jitter: 1).count))
    }
  }

  @Test func backoff_hasFullJitter() {
    for failures in 1...20 {
      let ceiling = Backoff.pause(failures: failures, jitter: 1)
      #expect(Backoff.pause(failures: failures, jitter: 0) == .zero)
      for step in 1..<16 {
        let pause = Backoff.pause(failures: failures, jitter: Double(step) / 16)
        #expect(pause > .zero && pause < ceiling)
      }
    }
  }

  @Test(
    arguments: [
      // lifetime, lead in seconds
      (3600, 300), (2000, 300), (1999, 299.85), (600, 90), (300, 45), (100, 15), (60, 15), (30, 15), (29, 14.5),
      (10, 5),
      (1, 0.5), (0, 0), (86_400, 300), (315_360_000, 300),
    ] as [(Int64, Double)])
  func leadTime_isFifteenPercentOfTheLifetimeWithinBounds(lifetime: Int64, lead: Double) {
    #expect(LeadTime.of(lifetime: .seconds(lifetime)) == Milliseconds(Int64(lead * 1000)))
  }

  @Test(
    arguments: [
      // lifetime, refresh_in, lead
      (3600, 1800, 1800), (3600, 1, 3599), (3600, 3599, 1), (86_400, 43_200, 43_200),
      // a refresh_in that makes no sense is ignored
      (3600, 0, 300), (3600, -5, 300), (3600, 3600, 300), (3600, 7200, 300),
    ] as [(Int64, Int64, Int64)])
  func refreshIn_overridesTheLeadTime(lifetime: Int64, refreshIn: Int64, lead: Int64) {
    #expect(LeadTime.of(lifetime: .seconds(lifetime), refreshIn: .seconds(refreshIn)) == .seconds(lead))
  }
}
