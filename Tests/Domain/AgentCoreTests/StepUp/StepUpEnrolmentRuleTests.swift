import AgentCore
import AgentModel
import Testing

@Suite struct StepUpEnrolmentRuleTests {
  @Test func firstPIN_takesASignInWithinTenMinutes() {
    #expect(StepUpEnrolmentRule.mayEnrollFirst(sinceSignIn: .zero))
    #expect(StepUpEnrolmentRule.mayEnrollFirst(sinceSignIn: .seconds(600)))
    #expect(!StepUpEnrolmentRule.mayEnrollFirst(sinceSignIn: .seconds(601)))
    #expect(!StepUpEnrolmentRule.mayEnrollFirst(sinceSignIn: nil))
  }
}
