import AgentCore
import AgentModel
import Testing

/// How a provider is asked to confirm an account, and how often.
@Suite struct ConfirmationTests {
  private static func means(
    rolesClaim: String? = nil, userInfo: Bool = true, entitlementsURL: Bool = false, introspection: Bool = false,
    token: Bool = true, refreshToken: Bool = true, unhelpful: Set<ConfirmationStep> = []
  ) -> ConfirmationMeans {
    ConfirmationMeans(
      rule: RightsRule(rolesClaim: rolesClaim, hasUserInfo: userInfo, hasEntitlementsURL: entitlementsURL),
      hasIntrospection: introspection, hasToken: token, hasRefreshToken: refreshToken, unhelpful: unhelpful)
  }

  @Test func tokenAtHand_isConfirmedWithoutARotation() {
    #expect(Self.means().steps(for: .init()) == [.userInfo])
    #expect(Self.means(userInfo: false, introspection: true).steps(for: .init()) == [.introspection])
    #expect(Self.means(userInfo: false, entitlementsURL: true).steps(for: .init()) == [.entitlements])
    #expect(Self.means(userInfo: false).steps(for: .init()) == [.exchange])
    #expect(Self.means(token: false).steps(for: .init()) == [.exchange])
    #expect(Self.means(userInfo: false, refreshToken: false).steps(for: .init()) == [])
  }

  @Test func rightsThatTheCapabilityHangsOn_areToldAnew() {
    #expect(Self.means(rolesClaim: "roles").steps(for: .init(roles: true)) == [.userInfo])
    #expect(Self.means(rolesClaim: "roles", userInfo: false).steps(for: .init(roles: true)) == [.exchange])
    #expect(
      Self.means(rolesClaim: "roles", unhelpful: [.userInfo]).steps(for: .init(roles: true)) == [.exchange],
      "userinfo does not tell the roles here")
    #expect(Self.means().steps(for: .init(entitlements: true)) == [.exchange], "tokens tell them")
    #expect(
      Self.means(rolesClaim: "roles", entitlementsURL: true).steps(for: .init(roles: true, entitlements: true))
        == [.userInfo, .entitlements])
    #expect(Self.means(entitlementsURL: true).steps(for: .init(roles: true)) == [.entitlements])
    #expect(Self.means().steps(for: .init(wholeSnapshot: true)) == [.exchange])
    #expect(Self.means(refreshToken: false).steps(for: .init(wholeSnapshot: true)) == [.userInfo])
  }

  @Test func questionsOfSeveralDenials_areOne() {
    #expect(ProviderQuestion.joined([]) == nil)
    #expect(
      ProviderQuestion.joined([.init(), .init(roles: true), .init(entitlements: true)])
        == .init(roles: true, entitlements: true))
  }

  @Test func questions_areTenSecondsApartAndRarerWhileTheyFail() {
    var pace = ConfirmationPace()
    func begin(_ seconds: Int64) -> Bool { pace.begin(at: at(seconds)) }
    func at(_ seconds: Int64) -> BootInstant { BootInstant(milliseconds: seconds * 1000) }
    #expect(begin(0))
    pace.succeeded()
    #expect(!begin(9))
    #expect(begin(10))
    var now: Int64 = 10
    for pause in [10, 20, 40, 80, 160, 300, 300] as [Int64] {
      pace.failed(at: at(now))
      #expect(!begin(now + pause - 1), "after \(now) s")
      #expect(begin(now + pause))
      now += pause
    }
    pace.failed(at: at(now), retryAfter: .seconds(600))
    #expect(!begin(now + 599))
    pace.reset()
    #expect(begin(now + 1))
    pace.succeeded()
    pace.failed(at: at(now))
    #expect(begin(now + 10), "an answer forgives the failures before it")
  }
}
