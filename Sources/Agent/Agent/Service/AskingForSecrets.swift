package import AgentModel
package import AgentPorts
package import AgentRecords
internal import AgentSessions
package import AgentStore
package import Secrets

extension AgentService {
  /// The PIN that the caller gave, or that the person types where the caller does not see it.
  package func pin(
    _ given: Secret?, asks: Bool, _ question: PromptQuestion, of id: AccountID
  ) async throws(AgentFailure) -> Secret {
    switch (given, asks) {
    case (let given?, false): return given
    case (nil, false): throw .invalidParameter("/pin", expected: "a PIN, or a prompt that asks for it")
    case (.some, true): throw .invalidParameter("/prompt", expected: "a PIN or a prompt, not both")
    case (nil, true): break
    }
    func refused(_ failure: (Int) -> StepUpFailure) async -> AgentFailure {
      let left = try? await vault.read { vault throws(AgentFailure) in try vault.stepUp.status(.id(id)).attemptsLeft }
      return .stepUp(failure(left ?? 0), id, .pin)
    }
    switch await environment.prompter.ask(question) {
    case .typed(let pin):
      guard (1...256).contains(pin.count) else {
        throw await refused { .badLength(left: $0) }
      }
      return pin
    case .cancelled:
      if Task.isCancelled { throw .cancelled }
      throw await refused { .prompt(.cancelled, left: $0) }
    case .timedOut: throw await refused { .prompt(.timedOut, left: $0) }
    case .unavailable, .confirmed:
      throw await refused { .prompt(.unavailable, left: $0) }
    }
  }
}

extension AgentService {
  /// For `agent.unlock`: the passphrase, typed where the caller does not see it.
  package func typedPassphrase(_ question: PromptQuestion = .passphrase) async throws(AgentFailure) -> Secret {
    switch await environment.prompter.ask(question) {
    case .typed(let passphrase): return passphrase
    case .cancelled:
      if Task.isCancelled { throw .cancelled }
      throw .passphrase(.prompt(.cancelled))
    case .timedOut: throw .passphrase(.prompt(.timedOut))
    case .unavailable, .confirmed:
      throw .passphrase(.prompt(.unavailable))
    }
  }
}

extension AgentService {
  /// The passphrase of a backup, given or typed.
  package func backupPassphrase(
    _ given: Secret?, asks: Bool, _ question: PromptQuestion
  ) async throws(AgentFailure) -> Secret {
    switch (given, asks) {
    case (let given?, false): return given
    case (.some, true): throw .invalidParameter("/prompt", expected: "a passphrase or a prompt, not both")
    case (nil, false): throw .invalidParameter("/passphrase", expected: "a passphrase, or a prompt that asks for it")
    case (nil, true): break
    }
    let typed = try await typedPassphrase(question)
    // As the contract bounds one that is given.
    guard (1...1024).contains(typed.count) else {
      throw .passphrase(.badLength)
    }
    return typed
  }
}

extension PromptQuestion {
  package static let newBackupPassphrase = PromptQuestion(
    description: "Choose a passphrase for the backup. If you lose it, the backup can't be read.",
    label: "New passphrase:", isNew: true)

  package static let backupPassphrase = PromptQuestion(
    description: "The passphrase of the backup.", label: "Passphrase:")

  package static func pin(of profile: AccountProfile) -> PromptQuestion {
    PromptQuestion(description: "Confirm that it is you: the PIN of \(profile.shown).", label: "PIN:")
  }

  package static func newPIN(for profile: AccountProfile) -> PromptQuestion {
    PromptQuestion(
      description:
        "Choose a PIN for \(profile.shown). After ten wrong ones it is destroyed, and the data that it locks with it.",
      label: "New PIN:", isNew: true)
  }

  package static let newPassphrase = PromptQuestion(
    description: "Choose a passphrase that opens the Lanyard vault. It can't be recovered if you lose it.",
    label: "New passphrase:", isNew: true)

  package static let passphrase = PromptQuestion(
    description: "The passphrase of the Lanyard vault.", label: "Passphrase:")
}
