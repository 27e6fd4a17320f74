package import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentStore
package import AgentVault
internal import Secrets

extension DeclaredKind {
  /// A configured provider, with its client secret and its metadata.
  package static let provider = DeclaredKind(16, under: .vault, [.counted, .answersForItself], named: "provider")
}

extension OpenVault {
  package var providers: ProviderStore { ProviderStore(vault: self) }
}

/// The configured providers.
package struct ProviderStore {
  package let vault: OpenVault

  // MARK: questions

  package func provider(named name: String) throws(AgentFailure) -> Provider {
    guard let name = ProviderName(name) else { throw .providerNotFound }
    if let provider = vault.providerTable.all[name] {
      guard !provider.isGone else { throw .provider(.fileGone(provider.managedBy ?? "")) }
      return provider
    }
    throw try isDamaged(name) ? .provider(.damaged(nil)) : .providerNotFound
  }

  /// Refuses a provider of no covered account, as one that is missing.
  package func requireSeen(_ name: ProviderName, by grant: EffectiveGrant) throws(AgentFailure) {
    guard vault.directory.profiles.values.contains(where: { $0.provider == name && grant.covers($0.id) }) else {
      throw .providerNotFound
    }
  }

  /// Refuses a limited caller where an account uses the provider that its grant does not cover.
  package func requireCovered(_ name: ProviderName, by grant: EffectiveGrant?) throws(AgentFailure) {
    guard let grant else { return }
    let accounts = vault.directory.accounts(of: name)
    guard accounts.allSatisfy(grant.covers) else {
      throw accounts.contains(where: grant.covers) ? .caller(.notCovered) : .providerNotFound
    }
  }

  /// The providers of the caller's accounts; all of them where nothing limits it.
  package func sorted(within grant: EffectiveGrant?) -> [Provider] {
    let all = vault.providerTable.sorted
    guard let grant else { return all }
    let seen = Set(vault.directory.profiles.values.filter { grant.covers($0.id) }.map(\.provider))
    return all.filter { seen.contains($0.configuration.name) }
  }

  /// Is there a record of this provider that does not open?
  package func isDamaged(_ provider: ProviderName) throws(AgentFailure) -> Bool {
    guard !vault.providerTable.damaged.isEmpty else { return false }
    return vault.providerTable.damaged.contains(try place(of: provider))
  }

  package func requireFree(_ name: ProviderName) throws(AgentFailure) {
    try requireOwn(vault.providerTable.all[name])
    guard vault.providerTable.all[name] == nil else {
      throw .invalidParameter("/name", expected: "a name that no provider has yet")
    }
  }

  /// Refuses a change of a provider that the administrator sets.
  private func requireOwn(_ provider: Provider?) throws(AgentFailure) {
    if let provider, let path = provider.managedBy, !provider.isGone { throw .managed(.provider, .file(path)) }
  }

  // MARK: changes

  /// Adds a provider; a name that is taken is refused, since accounts belong to it. One whose record does not open is
  /// replaced, if it is the one that its accounts signed in to: their tokens go nowhere else.
  package func add(_ provider: Provider) throws(AgentFailure) -> ChangeSet<Provider?> {
    try requireFree(provider.configuration.name)
    guard try !isDamaged(provider.configuration.name) || isOfItsAccounts(provider) else {
      throw .invalidParameter("/issuer", expected: "the issuer of the accounts that this provider has")
    }
    return try saving(provider, after: nil, entry: vault.audited(.providerAdd, .provider(provider.configuration.name)))
      .onlyIntoFreeRoom
  }

  package func isOfItsAccounts(_ provider: Provider) -> Bool {
    vault.directory.profiles.values.allSatisfy {
      $0.provider != provider.configuration.name || provider.isItself($0.identity.issuer)
    }
  }

  /// Nil, and no change, if the stored provider is no longer `known`, from which `provider` was made.
  package func update(_ provider: Provider, replacing known: Provider) throws(AgentFailure) -> ChangeSet<Provider?> {
    guard let before = vault.providerTable.all[provider.configuration.name] else { throw .providerNotFound }
    try requireOwn(before)
    guard before.record.equals(known.record) else { return .unchanged(nil) }
    var saving = try saving(
      provider, after: before, entry: vault.audited(.providerUpdate, .provider(provider.configuration.name)))
    if !provider.isSameClient(as: before) { saving.records += try vault.outbox.keeping(before) }
    return saving.onlyIntoFreeRoom
  }

  /// Stores the metadata that a provider sent, and returns the provider with it; nil if it is not configured any more.
  ///
  /// `isUnasked`: no person asked for it. A document that then names a token endpoint at another origin changes nothing:
  /// one wrong document would part every account from its provider.
  package func remember(
    _ metadata: ServerMetadata, of asked: ProviderConfiguration, isUnasked: Bool = false
  ) throws(AgentFailure) -> ChangeSet<Provider?> {
    // Another issuer may have the name by now.
    guard let before = vault.providerTable.all[asked.name], equalCodePoints(before.configuration.issuer, asked.issuer)
    else {
      return .unchanged(nil)
    }
    var provider = before
    provider.learn(metadata, at: vault.time.now(for: asked.name))
    if isUnasked, !provider.mayReceive(before.issuingClient) { return .unchanged(before) }
    provider.keepCredentials(of: before)
    return try saving(provider, after: before)
  }

  package func saving(
    _ provider: Provider, after before: Provider?, entry: VaultChange? = nil
  ) throws(AgentFailure) -> ChangeSet<Provider?> {
    var provider = provider
    let accounts = accounts(of: provider)
    if let before { provider.remember(before, for: accounts.map(\.issuedBy)) }
    let changed = accounts.filter { $0 != vault.directory.profiles[$0.id] }
    let place = try place(of: provider.configuration.name)
    let record = VaultChange.put(.vault, .provider, id: place, provider.record)
    return ChangeSet(
      [record] + changed.flatMap(changes(of:)) + (entry.map { [$0] } ?? []),
      memory: [.provider(provider, place: place)] + changed.map { .account($0) }, result: provider)
  }

  /// Removes a provider that no account uses any more, and returns what it was. Revocations that wait are sent all the
  /// same: their entries have what that takes.
  /// - Parameter grant: of the accounts that use the provider, the caller is told those that it covers.
  package func remove(
    named name: ProviderName, by grant: EffectiveGrant?
  ) throws(AgentFailure) -> ChangeSet<Provider> {
    let users = vault.directory.accounts(of: name).filter { grant?.covers($0) ?? true }.sorted()
    if users.isEmpty { try requireCovered(name, by: grant) }
    let provider = try provider(named: name.text)
    try requireOwn(provider)
    guard users.isEmpty else { throw .provider(.inUse(users)) }
    return try removing(provider)
  }

  package func removing(_ provider: Provider) throws(AgentFailure) -> ChangeSet<Provider> {
    ChangeSet(
      try vault.outbox.keeping(provider) + [
        .delete(.vault, .provider, id: try place(of: provider.configuration.name)),
        vault.audited(.providerRemove, .provider(provider.configuration.name)),
      ],
      memory: [.providerRemoved(provider.configuration.name)], result: provider)
  }

  package func place(of provider: ProviderName) throws(AgentFailure) -> [UInt8] {
    try vault.withRecords { (records) throws(VaultFailure) in try records.places().id(of: .provider, provider.text) }
  }
}
