import AgentCore
import AgentModel
import Testing

/// When a person is told that a secret ends (docs/secrets.md, Expiry).
@Suite struct ExpiryReminderTests {
  private let end = Timestamp(milliseconds: 1_900_000_000_000)

  private func before(_ seconds: Int64) -> Timestamp { end + .seconds(-seconds) }

  @Test func eachReminder_comesOnceInItsOrder() {
    var told: ExpiryReminder?
    var moments: [Timestamp] = []
    while let next = ExpiryReminder.next(end, told: told) {
      #expect(ExpiryReminder.due(end, told: told, at: next + Milliseconds(-1)) == nil)
      told = ExpiryReminder.due(end, told: told, at: next)
      #expect(ExpiryReminder.due(end, told: told, at: next) == nil)
      moments.append(next)
    }
    #expect(moments == [before(7 * 86_400), before(86_400), before(3600), end])
    #expect(told == .end)
  }

  @Test func afterASleepOverSeveral_theLastIsTold() {
    #expect(ExpiryReminder.due(end, told: .week, at: before(60)) == .hour)
  }

  @Test func endThatIsNear_isNotToldOfMomentsThatHavePassed() {
    let told = ExpiryReminder.passed(end, at: before(3 * 86_400))
    #expect(told == .week)
    #expect(ExpiryReminder.due(end, told: told, at: before(3 * 86_400)) == nil)
    #expect(ExpiryReminder.next(end, told: told) == before(86_400))
  }

  @Test func clockThatWentBack_tellsNothingTwice() {
    #expect(ExpiryReminder.due(end, told: .hour, at: before(2 * 86_400)) == nil)
  }
}
