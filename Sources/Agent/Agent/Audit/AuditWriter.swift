internal import Synchronization

/// Commits the audit entries of decisions before the agent answers them (docs/storage.md, Audit).
///
/// Decisions that arrive during a commit share the next one, so that any number of concurrent decisions costs one
/// write.
package final class AuditWriter: Sendable {
  private struct Waiting {
    var entries: [AuditEntry]
    var caller: CheckedContinuation<Result<Void, AgentFailure>, Never>
  }
  private struct State {
    var queue: [Waiting] = []
    var isWriting = false
  }
  private let state = Mutex(State())
  private let vault: VaultActor
  private let background: BackgroundWork

  package init(vault: VaultActor, background: BackgroundWork) {
    self.vault = vault
    self.background = background
  }

  /// Commits the entries; they are durable when this returns.
  func record(_ entries: [AuditEntry]) async throws(AgentFailure) {
    let result = await withCheckedContinuation { caller in
      let leads = state.withLock { state in
        state.queue.append(Waiting(entries: entries, caller: caller))
        defer { state.isWriting = true }
        return !state.isWriting
      }
      if leads, !background.start({ await self.write() }) { refuse(.shuttingDown) }
    }
    try result.get()
  }

  private func write() async {
    while let group = next() {
      var result: Result<Void, AgentFailure> = .success(())
      do throws(AgentFailure) {
        let entries = group.flatMap(\.entries)
        try await vault.commit { vault throws(AgentFailure) in vault.audit.append(entries) }
      } catch {
        result = .failure(error)
      }
      for waiting in group { waiting.caller.resume(returning: result) }
    }
  }

  private func next() -> [Waiting]? {
    state.withLock { state in
      let group = state.queue
      state.queue = []
      state.isWriting = !group.isEmpty
      return group.isEmpty ? nil : group
    }
  }

  /// Refuses all waiting entries, also those that arrive meanwhile. The last `next()` clears `isWriting`, so that the
  /// next caller of `record` tries again.
  private func refuse(_ error: AgentFailure) {
    while let group = next() {
      for waiting in group { waiting.caller.resume(returning: .failure(error)) }
    }
  }
}
