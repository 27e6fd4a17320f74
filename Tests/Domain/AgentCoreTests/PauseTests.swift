import AgentCore
import AgentModel
import Testing

@Suite struct PauseTests {
  @Test func backoffCeiling_growsFourfoldFromOneSecondToTenMinutes() {
    let ceilings = (1...8).map { Backoff.pause(failures: $0, jitter: 1).count / 1000 }
    #expect(ceilings == [1, 4, 16, 64, 256, 600, 600, 600])
    for failures in [-1, 0, 100, .max] {
      #expect((0...600_000).contains(Backoff.pause(failures: failures, jitter: 1).count))
    }
  }

  @Test func backoff_isAtLeastTwoThirdsOfItsCeiling() {
    for failures in 1...20 {
      let ceiling = Backoff.pause(failures: failures, jitter: 1)
      #expect(Backoff.pause(failures: failures, jitter: 0) == ceiling * 2 / 3)
      for step in 1..<16 {
        let pause = Backoff.pause(failures: failures, jitter: Double(step) / 16)
        #expect(pause > ceiling * 2 / 3 && pause < ceiling)
      }
    }
  }

  @Test(
    arguments: [
      // Retry-After, the earliest and the latest pause in seconds
      (0, 1, 1), (1, 1, 1), (60, 60, 60), (120, 120, 180), (1200, 1200, 1800), (3600, 3600, 4200),
    ] as [(Int64, Int64, Int64)])
  func retryAfterOfMoreThanAMinute_isSpreadOverHalfAsLongAgain(retryAfter: Int64, earliest: Int64, latest: Int64) {
    let pauses = [0, 1].map { Backoff.spread(.seconds(retryAfter), jitter: $0) }
    #expect(pauses == [.seconds(earliest), .seconds(latest)])
  }

  @Test func documents_areReadBesideOneAnswerOfSixteenAfterADay() {
    let day = Milliseconds.seconds(86_400)
    #expect(!DocumentAge.isDue(age: day - Milliseconds(1), jitter: 0))
    #expect(DocumentAge.isDue(age: day, jitter: 0.06) && !DocumentAge.isDue(age: day, jitter: 0.07))
    #expect(DocumentAge.isDue(age: day * 7, jitter: 1) && DocumentAge.isDue(age: .zero - day, jitter: 1))
  }

  @Test func postponedRevocation_comesInTheSecondHalfOfSixHours() {
    #expect(RevocationOutbox.postponed(jitter: 0) == .seconds(3 * 3600))
    #expect(RevocationOutbox.postponed(jitter: 1) == RevocationOutbox.longest)
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
