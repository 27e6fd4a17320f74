internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentRecords
internal import AgentStore
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
