import AgentCore
import AgentModel
import Testing

@Suite struct ActiveStepUpsTests {
  static let alice = AccountID("acc_c2ztq4xk7m3vwy5ndhb6rfgupa")!
  static let bob = AccountID("acc_m7n2qk4xwz5vty3cdhb6rfgupa")!

  static func at(_ seconds: Int64) -> BootInstant { BootInstant(milliseconds: seconds * 1000) }

  @Test func stepUp_hasAnAgeUntilItExpires() {
    var moments = ActiveStepUps()
    moments.granted(Self.alice, by: .pin, at: Self.at(10), for: .seconds(60))
    #expect(moments.ages(Self.alice, at: Self.at(40)) == [.pin: .seconds(30)])
    #expect(moments.left(Self.alice, at: Self.at(40)) == [.pin: .seconds(30)])
    #expect(moments.ages(Self.bob, at: Self.at(40)).isEmpty)
    #expect(moments.validUntil(Self.alice, at: Self.at(69)) == Self.at(70))
    #expect(moments.validUntil(Self.alice, at: Self.at(70)) == nil, "it is over at its end, not after")
    #expect(moments.ages(Self.alice, at: Self.at(70)).isEmpty && moments.left(Self.alice, at: Self.at(70)).isEmpty)
  }

  @Test func expiredStepUp_isReportedOnce() {
    var moments = ActiveStepUps()
    moments.granted(Self.alice, by: .pin, at: Self.at(0), for: .seconds(60))
    moments.granted(Self.bob, by: .pin, at: Self.at(0), for: .seconds(30))
    #expect(moments.earliest == Self.at(30))
    let ended = [29, 30, 30].map { moments.expire(at: Self.at($0)) }
    #expect(ended == [[], [Self.bob], []])
    let cleared = [moments.clear(Self.alice), moments.clear(Self.alice)]
    #expect(cleared == [true, false])
    let rest = moments.clearAll()
    #expect(rest == [] && moments.earliest == nil)
  }

  @Test func laterStepUp_replacesTheEarlierOne() {
    var moments = ActiveStepUps()
    moments.granted(Self.alice, by: .pin, at: Self.at(0), for: .seconds(600))
    moments.granted(Self.alice, by: .pin, at: Self.at(5), for: .seconds(10))
    #expect(moments.earliest == Self.at(15))
    let cleared = moments.clearAll()
    #expect(cleared == [Self.alice])
  }

  @Test func stepUpMethods_expireSeparately() {
    let badge = StepUpMethod(rawValue: "badge")
    var moments = ActiveStepUps()
    moments.granted(Self.alice, by: .pin, at: Self.at(0), for: .seconds(600))
    moments.granted(Self.alice, by: badge, at: Self.at(10), for: .seconds(60))
    #expect(moments.ages(Self.alice, at: Self.at(20)) == [.pin: .seconds(20), badge: .seconds(10)])
    #expect(moments.earliest == Self.at(70))
    #expect(moments.validUntil(Self.alice, at: Self.at(20)) == Self.at(600))
    let ended = [moments.expire(at: Self.at(70)), moments.expire(at: Self.at(600))]
    #expect(ended == [[], [Self.alice]], "the person is told when nothing counts any more")
  }
}
