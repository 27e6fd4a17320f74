internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import Secrets

extension AgentService {
  /// The PIN that the caller gave, or that the person types where the caller does not see it.
  func pin(
    _ given: Secret?, _ prompt: WirePrompt?, _ question: PromptQuestion, of id: AccountID
  ) async throws(AgentFailure) -> Secret {
    switch (given, prompt) {
    case (let given?, nil): return given
    case (nil, nil): throw .invalidParams("/pin", expected: "a PIN, or a prompt that asks for it")
    case (.some, .some): throw .invalidParams("/prompt", expected: "a PIN or a prompt, not both")
    case (nil, .some): break
    }
    func refused(_ reason: String, _ message: String) async -> AgentFailure {
      let left = try? await vault.stepUpStatus(.id(id)).attemptsLeft
      return .stepUpFailed(id, reason, left: left ?? 0, message)
    }
    switch await environment.prompter.ask(question) {
    case .typed(let pin):
      guard (1...256).contains(pin.count) else {
        throw await refused("notAPIN", "A PIN has 1 to 256 bytes. Nothing was tried.")
      }
      return pin
    case .cancelled:
      if Task.isCancelled { throw .cancelled }
      throw await refused("cancelled", "The question for the PIN was closed. Nothing was tried.")
    case .timedOut: throw await refused("timedOut", "Nobody typed the PIN in time. Nothing was tried.")
    case .unavailable:
      throw await refused(
        "promptUnavailable", "Nobody can be asked here: pinentry is not installed, or has nowhere to show itself.")
    }
  }
}

extension AgentService {
  /// For `agent.unlock`: the passphrase, typed where the caller does not see it.
  func typedPassphrase(_ question: PromptQuestion = .passphrase) async throws(AgentFailure) -> Secret {
    func refused(_ reason: String, _ message: String) -> AgentFailure {
      AgentFailure(.unlockFailed, message).with { $0.reason = reason }
    }
    switch await environment.prompter.ask(question) {
    case .typed(let passphrase): return passphrase
    case .cancelled:
      if Task.isCancelled { throw .cancelled }
      throw refused("cancelled", "The question for the passphrase was closed. Nothing was changed.")
    case .timedOut: throw refused("timedOut", "Nobody typed the passphrase in time. Nothing was changed.")
    case .unavailable:
      throw refused(
        "promptUnavailable", "Nobody can be asked here: pinentry is not installed, or has nowhere to show itself.")
    }
  }
}

extension AgentService {
  /// The passphrase of a backup, given or typed.
  func backupPassphrase(
    _ given: Secret?, _ prompt: WirePrompt?, _ question: PromptQuestion
  ) async throws(AgentFailure) -> Secret {
    switch (given, prompt) {
    case (let given?, nil): return given
    case (.some, .some): throw .invalidParams("/prompt", expected: "a passphrase or a prompt, not both")
    case (nil, nil): throw .invalidParams("/passphrase", expected: "a passphrase, or a prompt that asks for it")
    case (nil, .some): break
    }
    let typed = try await typedPassphrase(question)
    // As the contract bounds one that is given.
    guard (1...1024).contains(typed.count) else {
      throw AgentFailure(.unlockFailed, "A passphrase has 1 to 1024 bytes. Nothing was changed.").with {
        $0.reason = "notAPassphrase"
      }
    }
    return typed
  }
}

extension PromptQuestion {
  static let newBackupPassphrase = PromptQuestion(
    description: "Choose a passphrase for the backup. Without it nobody can read the file, you neither.",
    label: "New passphrase:", isNew: true)

  static let backupPassphrase = PromptQuestion(description: "The passphrase of the backup.", label: "Passphrase:")

  static func pin(of profile: AccountProfile) -> PromptQuestion {
    PromptQuestion(description: "Confirm that it is you: the PIN of \(profile.shown).", label: "PIN:")
  }

  static func newPIN(for profile: AccountProfile) -> PromptQuestion {
    PromptQuestion(
      description:
        "Choose a PIN for \(profile.shown). After ten wrong ones it is destroyed, and the data that it locks with it.",
      label: "New PIN:", isNew: true)
  }

  static let newPassphrase = PromptQuestion(
    description: "Choose a passphrase that opens the Lanyard vault. Nobody can find it again for you.",
    label: "New passphrase:", isNew: true)

  static let passphrase = PromptQuestion(description: "The passphrase of the Lanyard vault.", label: "Passphrase:")
}

extension AccountProfile {
  /// As a person knows it.
  fileprivate var shown: String { alias?.text ?? email ?? id.text }
}
