/// The messages of a failed step-up to a person.
extension StepUpFailure {
  func message(_ noun: String) -> String {
    switch self {
    case .wrong(let left):
      "The \(noun) is wrong. \(left == 1 ? "One more wrong one destroys it" : "\(left) more wrong ones destroy it"), and data that is locked by it."
    case .destroyed(endsBySignIn: true):
      "The \(noun) was tried too often and is destroyed; data that was locked by it is gone for good. Sign in again, then set a new \(noun)."
    case .destroyed:
      "The \(noun) was tried too often and is destroyed; data that was locked by it is gone for good. Type a new \(noun) in the agent's own prompt: `lanyard step-up --enroll --pinentry`."
    case .unavailable: "There was not enough memory to derive a key from the \(noun). Try again."
    case .throttled: "Several wrong \(noun)s came one after another. This one was not tried; wait a moment."
    case .required: "A \(noun) is set already. Before you change or remove it, confirm with it: `stepUp.verify`."
    case .recentSignInRequired:
      "The first \(noun) of an account can be set within ten minutes after its person signed in (`lanyard login`), or typed in the agent's own prompt (`lanyard step-up --enroll --pinentry`). Nothing was changed."
    case .promptRequired:
      "No sign-in shows that the person of this account is there, so its first \(noun) is typed in the agent's own prompt: `lanyard step-up --enroll --pinentry`. Nothing was changed."
    case .prompt(.cancelled, _): "The question for the PIN was closed. Nothing was tried."
    case .prompt(.timedOut, _): "The PIN was not typed in time. Nothing was tried."
    case .prompt(.unavailable, _): PromptFailure.unavailableMessage
    case .badLength: "A PIN has 1 to 256 bytes. Nothing was tried."
    }
  }
}

extension PromptFailure {
  static let unavailableMessage =
    """
    The person can't be asked here: pinentry is not installed, has nowhere to show itself, or the helper process that \
    starts it has ended. `agent.diagnose` says which; nothing was changed.
    """
}
