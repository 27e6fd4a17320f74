internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentRecords
internal import AgentSessions
package import AgentStore

extension AgentService {
  /// The failure with its cause where no sign-in helps: the file of the account's provider is gone. A demand for the
  /// person is noted for the next sign-in.
  package func explained(_ failure: AgentFailure) async -> AgentFailure {
    demands.note(failure)
    guard case .token(let refusal, let id) = failure, case .interaction = refusal else { return failure }
    let path = try? await vault.read { vault throws(AgentFailure) -> String? in
      let provider = try vault.providerTable.all[vault.directory.profile(.id(id)).provider]
      return provider.flatMap { $0.isGone ? $0.managedBy : nil }
    }
    guard let path else { return failure }
    return .providerFileGone(path, id)
  }
}
