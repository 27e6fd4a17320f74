internal import AgentCore
internal import AgentModel
internal import AgentOAuth
package import AgentStore
internal import AgentVault

/// Tells about accounts whose provider's file is gone (docs/administrator.md).
extension VaultDiagnosis {
  func goneFiles() -> Findings {
    var findings = Findings()
    let gone = vault.providerTable.all.values.filter(\.isGone)
    for provider in gone.sorted(by: { $0.configuration.name < $1.configuration.name }) {
      let name = provider.configuration.name
      let accounts = vault.directory.accounts(of: name).compactMap { vault.directory.profiles[$0]?.name }
      findings.problem(
        "administratorFileGone",
        "The administrator's file \(provider.managedBy ?? ""), which described the provider \(name.text), is gone. Its "
          + "accounts are kept and get no tokens until it is back: \(accounts.joined(separator: ", ")).",
        "Ask the administrator of this machine to put the file back.",
        "`lanyard logout ACCOUNT` signs an account out; `lanyard forget ACCOUNT` removes it.")
    }
    return findings
  }
}

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
