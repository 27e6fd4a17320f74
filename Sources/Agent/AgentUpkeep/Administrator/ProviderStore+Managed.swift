internal import AgentModel
internal import AgentOAuth
internal import AgentRecords
internal import AgentStore
internal import AgentVault
internal import Secrets

/// What bringing the vault's providers in step with the administrator's files came to.
package struct ManagedProviderChanges: Sendable {
  var changed: [ProviderName] = []
  var conflicts: [AdministratorProblem] = []
  /// A provider whose file is gone is kept for its accounts.
  var hasGone = false
}

/// The providers of the administrator's files (docs/administrator.md). They are records of the vault like
/// the person's, marked with the file: so accounts, revocations and learned metadata outlive a file that is gone.
extension ProviderStore {
  /// The changes that bring the providers in step with the files.
  func reconciled(with content: AdministratorContent) throws(AgentFailure) -> ChangeSet<ManagedProviderChanges> {
    var changes = ChangeSet<ManagedProviderChanges>([], result: ManagedProviderChanges())
    var told = ManagedProviderChanges()
    func add<Result>(_ more: ChangeSet<Result>, _ name: ProviderName) {
      changes.records += more.records
      changes.memory += more.memory
      told.changed.append(name)
    }
    for managed in content.providers {
      let name = managed.provider.configuration.name
      let before = vault.providerTable.all[name]
      guard let provider = try taking(managed.provider, after: before) else {
        told.conflicts.append(Self.conflict(managed, before))
        continue
      }
      if let before, before.record.equals(provider.record) { continue }
      add(try replacing(before, by: provider), name)
    }
    let described = Set(content.providers.map { $0.provider.configuration.name })
    for before in vault.providerTable.all.values.sorted(by: { $0.configuration.name < $1.configuration.name }) {
      let name = before.configuration.name
      guard let path = before.managedBy, !described.contains(name), !content.mayStillHold(path) else { continue }
      if let own = before.own.first {
        add(try replacing(before, by: own.continuing(before)), name)
      } else if vault.directory.accounts(of: name).isEmpty {
        add(try removing(before), name)
      } else {
        told.hasGone = true
        guard !before.isGone else { continue }
        var gone = before
        gone.isGone = true
        add(try replacing(before, by: gone), name)
      }
    }
    changes.result = { [told] _ in told }
    return changes
  }

  /// The provider of a file with what is known of it. Nil if the person has accounts of another issuer under its name.
  private func taking(_ managed: Provider, after before: Provider?) throws(AgentFailure) -> Provider? {
    guard let before else {
      return try isDamaged(managed.configuration.name) && !isOfItsAccounts(managed) ? nil : managed
    }
    var provider = managed.continuing(before)
    if before.managedBy == nil {
      guard isOfItsAccounts(managed) else { return nil }
      provider.own = [before]
    } else {
      provider.own = before.own
    }
    return provider
  }

  private func replacing(_ before: Provider?, by provider: Provider) throws(AgentFailure) -> ChangeSet<Provider?> {
    let name = provider.configuration.name
    var saving = try saving(
      provider, after: before, entry: vault.audited(before == nil ? .providerAdd : .providerUpdate, .provider(name)))
    if let before, !provider.isSameClient(as: before) { saving.records += try vault.outbox.keeping(before) }
    return saving
  }

  private static func conflict(_ managed: ManagedProvider, _ before: Provider?) -> AdministratorProblem {
    let name = managed.provider.configuration.name.text
    let which = before == nil ? "whose record can't be decrypted" : "of another issuer"
    return AdministratorProblem(
      path: managed.path,
      text: """
        \(managed.path): You already have a provider \(name) \(which), with accounts, so this file is ignored. Sign \
        its accounts out and forget them (`lanyard forget ACCOUNT`): then the file is used.
        """)
  }
}

extension Provider {
  /// This configuration with what `before` learned and received, as far as it is of the same issuer.
  fileprivate func continuing(_ before: Provider) -> Provider {
    var provider = self
    provider.former = before.former
    guard equalCodePoints(before.configuration.issuer, configuration.issuer) else { return provider }
    if let metadata = before.metadata, let readAt = before.metadataReadAt { provider.learn(metadata, at: readAt) }
    provider.learnedReuse = before.learnedReuse
    return provider
  }
}
