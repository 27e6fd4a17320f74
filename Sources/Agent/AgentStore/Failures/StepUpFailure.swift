package import AgentModel

/// Why a step-up is not valid now.
package enum StepUpFailure: Sendable {
  case wrong(left: Int)
  /// Tried too often; the data that was locked by it is gone. Another one takes a sign-in, or the agent's own prompt.
  case destroyed(endsBySignIn: Bool)
  /// Not enough memory to check it: neither right nor wrong.
  case unavailable
  case throttled(retryAfter: Milliseconds, left: Int)
  /// Changing or removing it takes a valid step-up.
  case required
  /// Setting the first one takes a sign-in a moment ago, or the agent's own prompt.
  case recentSignInRequired
  /// Setting the first one takes the agent's own prompt: no sign-in shows the account's person.
  case promptRequired
  /// The person could not be asked, or gave no answer.
  case prompt(PromptFailure, left: Int)
  /// Longer or shorter than the contract allows.
  case badLength(left: Int)
}
