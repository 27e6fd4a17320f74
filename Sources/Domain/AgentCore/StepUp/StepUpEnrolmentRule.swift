public import AgentModel

/// When the first proof of presence of an account may be set by a program (docs/offline.md, Step-up).
public enum StepUpEnrolmentRule {
  /// Long enough to choose a PIN after signing in, and too short for a program that waits for its chance.
  public static let longestSinceSignIn = Milliseconds.seconds(600)

  /// `age` is the time since the person signed in to the account; nil if that is not known.
  public static func mayEnrollFirst(sinceSignIn age: Milliseconds?) -> Bool {
    age.map { $0 <= longestSinceSignIn } ?? false
  }
}
