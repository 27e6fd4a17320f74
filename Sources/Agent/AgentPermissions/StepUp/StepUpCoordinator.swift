internal import AgentCore
package import AgentModel
package import AgentPorts
package import AgentRecords
package import AgentStore
package import Secrets

/// Judges proofs, one after another: a PIN costs 64 MiB and some tenths of a second, and two guesses at once would be
/// judged by one count. `VaultActor` serves callers that want a token meanwhile.
package struct StepUpCoordinator: Sendable {
  private let vault: VaultActor
  private let methods: [StepUpMethod: any StepUpProver]
  private let turns = AsyncMutex()

  /// Each method once.
  package init(vault: VaultActor, methods: [any StepUpProver]) {
    self.vault = vault
    self.methods = Dictionary(uniqueKeysWithValues: methods.map { ($0.method, $0) })
  }

  /// Counted first, then judged. `inPrompt`: typed in the agent's own prompt. Until when the step-up counts, on the wall clock.
  package func verify(
    _ given: Secret, by method: StepUpMethod, of id: AccountID, for duration: Milliseconds?, inPrompt: Bool = false
  ) async throws(AgentFailure) -> Timestamp {
    try await turns.pass { () async throws(AgentFailure) in
      guard let proving = methods[method] else { throw .notFound(.stepUp(method), id) }
      let counted = try await vault.commit { vault throws(AgentFailure) in
        try vault.stepUpAttempts.begin(id, by: method)
      }
      let attempt = try counted.get()
      switch await proving.judge(given, kept: attempt.lock.kept, pepper: attempt.place.pepper) {
      case .key(let key) where attempt.place.isRight(key, for: attempt.lock):
        return try await vault.commit { vault throws(AgentFailure) in
          try vault.stepUpAttempts.wasRight(attempt, key: key, for: duration, inPrompt: inPrompt)
        }
      case .key, .wrong:
        throw try await vault.commit { vault throws(AgentFailure) in try vault.stepUpAttempts.wasWrong(attempt) }
      case .unavailable: throw .stepUp(.unavailable, id, method)
      }
    }
  }

  package func enroll(
    _ given: Secret, by method: StepUpMethod, for id: AccountID, isTyped: Bool = false
  ) async throws(AgentFailure) -> StepUpState {
    try await turns.pass { () async throws(AgentFailure) in
      let place = try await vault.read { vault throws(AgentFailure) in
        try vault.stepUp.placeForNew(method, of: id, isTyped: isTyped)
      }
      guard let proving = methods[method], let enrolment = await proving.enroll(given, pepper: place.pepper) else {
        throw .stepUp(.unavailable, id, method)
      }
      return try await vault.commit { vault throws(AgentFailure) in
        try vault.stepUp.enroll(id, enrolment, at: place, isTyped: isTyped)
      }
    }
  }
}
