internal import AgentDecisions
internal import AgentOAuth
internal import AgentPermissions
internal import AgentPorts
package import AgentRecords
internal import AgentSessions
internal import AgentSignIn
package import AgentStore

extension AgentService {
  /// Drops every key and all decrypted data, and refuses waiting callers. A request in flight at a provider runs to its
  /// end; the next unlock stores its answer.
  package func lock(because reason: LockReason) async {
    // Runs to its end, also if the caller disconnects.
    do throws(AgentFailure) {
      try await background.finish { [self] () async throws(AgentFailure) in
        try await opening.pass {
          guard await self.vault.lock(because: reason) else { return }
          await self.release()
          self.events.publish(.agentLocked(reason))
        }
      }
    } catch {
      // The agent is shutting down and starts no work: drop the keys here.
      _ = await vault.lock(because: reason)
    }
  }

  /// Drops the decrypted data of accounts, sign-ins and revocations, after the vault's.
  private func release() async {
    idle.closed()
    environment.refusals.forgetAll()
    await accounts.releaseAll()
    await signIns.vaultWasLocked()
    await revocations.vaultWasLocked()
    await operations.vaultWasLocked()
    secretExpiry.vaultWasLocked()
    approvals.vaultWasLocked()
    await policySource.vaultWasLocked()
  }

  /// Delays the machine's sleep until the keys are gone.
  func lockedByTheMachine(_ reason: LockReason) {
    let started = background.start { [self] in
      await lock(because: reason)
      if reason == .sleep { environment.signals.readyToSleep() }
    }
    if !started { environment.signals.readyToSleep() }
  }

  /// Opens the vault by `open`, and resumes the work that waited for it.
  package func unlock(
    _ event: AuditEntry.Event, by open: @escaping @Sendable (VaultActor) async throws(AgentFailure) -> Void
  ) async throws(AgentFailure) {
    try await background.finish { [self] () async throws(AgentFailure) in
      try await opening.pass { () async throws(AgentFailure) in
        let wasOpen = await self.vault.isOpen
        try await open(self.vault)
        guard !wasOpen else { return }
        do throws(AgentFailure) {
          try await self.vault.noteOpening(event)
        } catch {
          // A caller may have begun work in between.
          await self.release()
          throw error
        }
        self.idle.opened()
        self.resumeWork()
        self.events.publish(.agentUnlocked)
      }
    }
  }
}
