internal import AgentPermissions
internal import AgentRecords
package import AgentStore

extension VaultActor {
  /// Brings the providers, and the policies that are kept, in step with the administrator's files. A failing disk keeps no person out: what the vault
  /// knows stays, and `AdministratorTable` tells it.
  ///
  /// - Parameter isForAccounts: the files are as they were, and only accounts may have gone: reads and writes no policy.
  @discardableResult
  package func reconcile(isForAccounts: Bool = false) -> ManagedProviderChanges {
    let table = dependencies.tables.administrator
    do throws(AgentFailure) {
      if !isForAccounts {
        let kept = try commitIfOpen { vault throws(AgentFailure) in .unchanged(try vault.administratorPolicies.all()) }
        if table.complete(with: kept ?? []) { dependencies.tables.policyCache.setManaged(table.content) }
      }
      let content = table.content
      let changes = try commitIfOpen { vault throws(AgentFailure) in
        var changes = try vault.providers.reconciled(with: content)
        if !isForAccounts { changes.records += try vault.administratorPolicies.keeping(content.policies) }
        return changes
      }
      if let changes { table.reconciled(changes) }
      return changes ?? ManagedProviderChanges()
    } catch {
      table.failed(error)
      return ManagedProviderChanges()
    }
  }
}
