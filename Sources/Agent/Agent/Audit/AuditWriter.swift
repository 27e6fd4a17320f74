internal import Synchronization

/// Commits the audit entries of decisions before the agent answers them (docs/storage.md, Audit).
///
/// Decisions that arrive during a commit share the next one, so that any number of concurrent decisions costs one
/// write.
package final class AuditWriter: Sendable {
  /// Whether entries are still true when they are written. Called in the transaction, so that nothing comes between.
  package typealias Check = @Sendable (OpenVault) -> Bool

  private struct Waiting {
    var entries: [AuditEntry]
    var areTrue: Check
    var caller: CheckedContinuation<Result<Bool, AgentFailure>, Never>
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

  /// Commits the entries; they are durable when this returns true. False, and nothing is written, if they are not true
  /// any more when their turn comes: the order in the log is the order of effects.
  func record(_ entries: [AuditEntry], if areTrue: @escaping Check) async throws(AgentFailure) -> Bool {
    let result = await withCheckedContinuation { caller in
      let leads = state.withLock { state in
        state.queue.append(Waiting(entries: entries, areTrue: areTrue, caller: caller))
        defer { state.isWriting = true }
        return !state.isWriting
      }
      if leads, !background.start({ await self.write() }) { refuse(.shuttingDown) }
    }
    return try result.get()
  }

  private func write() async {
    while let group = next() {
      do throws(AgentFailure) {
        let written = try await vault.commit { vault throws(AgentFailure) in
          let areTrue = group.map { $0.areTrue(vault) }
          return vault.audit.append(zip(group, areTrue).flatMap { $1 ? $0.entries : [] }, result: areTrue)
        }
        for (waiting, isWritten) in zip(group, written) { waiting.caller.resume(returning: .success(isWritten)) }
      } catch {
        for waiting in group { waiting.caller.resume(returning: .failure(error)) }
      }
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
