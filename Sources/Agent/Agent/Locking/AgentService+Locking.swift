internal import AgentPorts

extension AgentService {
  /// Forgets every key and everything that was opened with one, and refuses the callers that wait for it. A request in
  /// flight at a provider runs to its end; the next unlocking places its answer.
  package func lock(because reason: LockReason) async {
    // To its end, also if the caller goes away.
    do throws(AgentFailure) {
      try await background.finish { [self] () async throws(AgentFailure) in
        try await door.pass {
          guard await self.vault.lock(because: reason) else { return }
          await self.release()
          self.events.publish(.agentLocked(reason))
        }
      }
    } catch {
      // The agent is ending, and takes on no work: the keys go all the same.
      _ = await vault.lock(because: reason)
    }
  }

  /// The vault has forgotten every key: so do the accounts, the sign-ins and the revocations.
  private func release() async {
    idle.closed()
    await accounts.releaseAll()
    await signIns.vaultWasLocked()
    await revocations.vaultWasLocked()
  }

  /// The machine waits with its sleep until the keys are gone.
  func lockedByTheMachine(_ reason: LockReason) {
    let started = background.start { [self] in
      await lock(because: reason)
      if reason == .sleep { environment.signals.readyToSleep() }
    }
    if !started { environment.signals.readyToSleep() }
  }

  /// Opens the vault as `open` does it, and goes on with what waited for that.
  package func unlock(
    _ event: AuditEntry.Event, by open: @escaping @Sendable (VaultActor) async throws(AgentFailure) -> Void
  ) async throws(AgentFailure) {
    try await background.finish { [self] () async throws(AgentFailure) in
      try await door.pass { () async throws(AgentFailure) in
        let wasOpen = await self.vault.isOpen
        try await open(self.vault)
        guard !wasOpen else { return }
        do throws(AgentFailure) {
          try await self.vault.noteOpening(event)
        } catch {
          // A caller may have begun to work in between.
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
