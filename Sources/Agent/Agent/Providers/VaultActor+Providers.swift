internal import AgentModel
internal import AgentPorts
internal import Secrets

/// The configured providers.
extension VaultActor {
  func provider(named name: String) throws(AgentFailure) -> Provider {
    _ = try unlockedVault()
    guard let name = ProviderName(name) else { throw .providerNotFound }
    if let provider = providers[name] { return provider }
    throw try isDamaged(name) ? .provider(.damaged(nil)) : .providerNotFound
  }

  /// One that the caller sees; another one is as none.
  func provider(_ name: ProviderName, within grant: EffectiveGrant?) throws(AgentFailure) -> Provider {
    _ = try unlockedVault()
    guard grant.map({ grant in profiles.values.contains { $0.provider == name && grant.covers($0.id) } }) ?? true else {
      throw .providerNotFound
    }
    return try provider(named: name.text)
  }

  /// Is there a record of this provider that does not open?
  func isDamaged(_ provider: ProviderName) throws(AgentFailure) -> Bool {
    guard !damagedProviders.isEmpty else { return false }
    return try onVault { (vault) throws(VaultFailure) in try damagedProviders.contains(vault.place(of: provider)) }
  }

  /// Those that the caller's accounts belong to; all of them where nothing limits it.
  func sortedProviders(within grant: EffectiveGrant?) throws(AgentFailure) -> [Provider] {
    _ = try unlockedVault()
    let all = providers.values.sorted { $0.configuration.name < $1.configuration.name }
    guard let grant else { return all }
    let seen = Set(profiles.values.filter { grant.covers($0.id) }.map(\.provider))
    return all.filter { seen.contains($0.configuration.name) }
  }

  /// Adds a provider; a name that is taken is refused, since accounts hang on it. One whose record does not open is
  /// replaced, if it is the one that its accounts signed in to: their tokens go nowhere else.
  func add(_ provider: Provider) throws(AgentFailure) {
    try requireFreeProvider(provider.configuration.name)
    guard try !isDamaged(provider.configuration.name) || isOfItsAccounts(provider) else {
      throw .invalidParameter("/issuer", expected: "the issuer of the accounts that this provider has")
    }
    try save(provider, [audited(.providerAdd, .provider(provider.configuration.name))])
  }

  private func isOfItsAccounts(_ provider: Provider) -> Bool {
    profiles.values.allSatisfy {
      $0.provider != provider.configuration.name || provider.isItself($0.identity.issuer)
    }
  }

  func requireFreeProvider(_ name: ProviderName) throws(AgentFailure) {
    _ = try unlockedVault()
    guard providers[name] == nil else {
      throw .invalidParameter("/name", expected: "a name that no provider has yet")
    }
  }

  func update(_ provider: Provider) throws(AgentFailure) {
    guard providers[provider.configuration.name] != nil else { throw .providerNotFound }
    try save(provider, [audited(.providerUpdate, .provider(provider.configuration.name))])
  }

  /// What a provider said of itself since, if it is still there.
  func remember(_ metadata: ServerMetadata, of asked: ProviderConfiguration) throws(AgentFailure) {
    // Another issuer may have the name by now.
    guard var provider = providers[asked.name], provider.configuration.issuer == asked.issuer else { return }
    provider.learn(metadata, at: time.now(for: asked.name))
    try save(provider)
  }

  /// Removes a provider that no account uses any more, and returns what it was.
  func removeProvider(named name: String) throws(AgentFailure) -> Provider {
    let provider = try provider(named: name)
    let users = profiles.values.filter { $0.provider == provider.configuration.name }.map(\.id).sorted()
    guard users.isEmpty else {
      throw .provider(.inUse(users))
    }
    let entry = audited(.providerRemove, .provider(provider.configuration.name))
    try onVault { (vault) throws(VaultFailure) in
      try vault.apply([
        .delete(.vault, .provider, id: vault.place(of: provider.configuration.name)), entry,
      ])
    }
    providers[provider.configuration.name] = nil
    policyCache.setName(nil, of: provider.configuration.name)
    time.forget(provider.configuration.name)
    return provider
  }

  private func save(_ provider: Provider, _ entry: [VaultChange] = []) throws(AgentFailure) {
    let place = try onVault { (vault) throws(VaultFailure) in
      let place = try vault.place(of: provider.configuration.name)
      try vault.apply([.put(.vault, .provider, id: place, provider.record)] + entry)
      return place
    }
    providers[provider.configuration.name] = provider
    damagedProviders.remove(place)
    policyCache.setName(provider.configuration.policy, of: provider.configuration.name)
  }
}

extension Vault {
  func place(of provider: ProviderName) throws(VaultFailure) -> [UInt8] {
    try index("provider", provider.text)
  }
}
