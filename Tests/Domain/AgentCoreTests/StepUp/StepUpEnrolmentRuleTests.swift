import AgentCore
import AgentModel
import Testing

@Suite struct StepUpEnrolmentRuleTests {
  private static func refusal(
    _ present: StepUpEnrolmentRule.Present = .none, signInProves: Bool = true, after seconds: Int64? = nil,
    isTyped: Bool = false
  ) -> StepUpEnrolmentRule.Refusal? {
    StepUpEnrolmentRule.refusal(
      having: present, signInProves: signInProves, sinceSignIn: seconds.map { Milliseconds.seconds($0) },
      isTyped: isTyped)
  }

  @Test func firstPIN_takesASignInWithinTenMinutesOrThePrompt() {
    #expect(Self.refusal(after: 0) == nil)
    #expect(Self.refusal(after: 600) == nil)
    #expect(Self.refusal(after: 601) == .takesRecentSignIn)
    #expect(Self.refusal() == .takesRecentSignIn)
    #expect(Self.refusal(isTyped: true) == nil)
  }

  /// Of a key, a machine, or a person whom the provider does not name: only the addition of a new account counts.
  @Test func firstPINLaterThanTheAddition_takesThePrompt() {
    #expect(Self.refusal(signInProves: false, after: 600) == nil)
    #expect(Self.refusal(signInProves: false, after: 601) == .takesPrompt)
    #expect(Self.refusal(signInProves: false, isTyped: true) == nil)
  }

  @Test(arguments: [true, false])
  func anotherPIN_takesAStepUp(signInProves: Bool) {
    #expect(Self.refusal(.set(isProven: true), signInProves: signInProves) == nil)
    #expect(Self.refusal(.set(isProven: false), signInProves: signInProves, after: 0) == .takesStepUp)
    #expect(Self.refusal(.set(isProven: false), signInProves: signInProves, after: 0, isTyped: true) == .takesStepUp)
  }

  /// A sign-in that proves takes the destroyed one away (`AdmissionStore`).
  @Test func destroyedPIN_isFollowedByATypedOneOnlyWhereNoSignInProves() {
    #expect(Self.refusal(.destroyed, after: 0) == .destroyed)
    #expect(Self.refusal(.destroyed, after: 0, isTyped: true) == .destroyed)
    #expect(Self.refusal(.destroyed, signInProves: false, after: 0) == .destroyed)
    #expect(Self.refusal(.destroyed, signInProves: false, after: 0, isTyped: true) == nil)
  }
}
