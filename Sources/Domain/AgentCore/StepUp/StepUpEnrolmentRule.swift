public import AgentModel

/// When a proof of presence may be set: only what takes the person opens the way to it, and nothing that a program can
/// do alone (docs/offline.md, What takes the person).
public enum StepUpEnrolmentRule {
  /// The proof that an account has.
  public enum Present: Hashable, Sendable {
    case none
    /// `isProven`: there is a valid step-up.
    case set(isProven: Bool)
    /// Tried too often.
    case destroyed
  }

  public enum Refusal: Hashable, Sendable {
    case takesRecentSignIn
    /// No sign-in shows the account's person.
    case takesPrompt
    case takesStepUp
    case destroyed
  }

  /// Long enough to choose a PIN after signing in, and too short for a program that waits for its chance.
  public static let longestSinceSignIn = Milliseconds.seconds(600)

  /// Nil if a proof may be set.
  ///
  /// - Parameters:
  ///   - signInProves: a sign-in shows the account's person.
  ///   - age: the time since the person signed in; nil if that is not known.
  ///   - isTyped: in the agent's own prompt, where no other program sees it or answers.
  public static func refusal(
    having present: Present, signInProves: Bool, sinceSignIn age: Milliseconds?, isTyped: Bool
  ) -> Refusal? {
    switch present {
    case .set(let isProven): isProven ? nil : .takesStepUp
    case .destroyed where signInProves: .destroyed
    // No sign-in can end it.
    case .destroyed: isTyped ? nil : .destroyed
    case .none where isTyped || age.map { $0 <= longestSinceSignIn } == true: nil
    case .none: signInProves ? .takesRecentSignIn : .takesPrompt
    }
  }
}
