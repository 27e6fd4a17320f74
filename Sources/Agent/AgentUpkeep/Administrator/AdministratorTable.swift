internal import AgentPermissions
internal import AgentStore
internal import Synchronization

/// What the administrator's files say now, and what came of it: read by `VaultActor` when it opens the vault, and by
/// those who ask for problems.
package final class AdministratorTable: Sendable {
  private struct State {
    var content = AdministratorContent()
    /// Providers that can't take the place of the person's.
    var conflicts: [AdministratorProblem] = []
    /// Providers wait for accounts of theirs to be forgotten: those of a conflict, or of a file that is gone.
    var isWaiting = false
    /// Why the vault did not take the providers of the files; nil if it did.
    var unstored: String?
  }
  private let state = Mutex(State())

  package init() {}

  package var content: AdministratorContent { state.withLock { $0.content } }

  func set(_ content: AdministratorContent) { state.withLock { $0.content = content } }

  /// Adds the policies that the vault kept of files that can't be used now. True if there were such.
  func complete(with kept: [ManagedPolicy]) -> Bool {
    var before = AdministratorContent()
    before.policies = kept
    return state.withLock { state in
      let whole = state.content.keeping(before)
      defer { state.content = whole }
      return whole.policies.count > state.content.policies.count
    }
  }

  func reconciled(_ result: ManagedProviderChanges) {
    state.withLock {
      ($0.conflicts, $0.unstored) = (result.conflicts, nil)
      $0.isWaiting = !result.conflicts.isEmpty || result.hasGone
    }
  }

  func failed(_ failure: AgentFailure) { state.withLock { $0.unstored = failure.message } }

  /// True if the vault is to be brought in step again.
  var isBehind: Bool { state.withLock { $0.unstored != nil } }

  /// True if forgotten accounts may have made room for a file, or ended a provider whose file is gone.
  var isWaiting: Bool { state.withLock(\.isWaiting) }

  /// Everything that does not count as the administrator wrote it, in the order of the paths.
  var problems: [AdministratorProblem] {
    state.withLock { state in
      let unstored = state.unstored.map { cause in
        AdministratorProblem(
          path: state.content.providers.first?.path ?? "",
          text: "The store did not take the providers of the administrator: \(cause)")
      }
      return (state.content.problems + state.conflicts).sorted { $0.path < $1.path } + (unstored.map { [$0] } ?? [])
    }
  }
}
