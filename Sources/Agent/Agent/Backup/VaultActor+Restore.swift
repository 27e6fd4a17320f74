internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// Taking in what a backup has. Nothing that is there is changed: what has its place already is named and left out.
///
/// Providers and policies come first, in one transaction, then each account in one of its own. A crash leaves what was
/// taken in so far, all of it whole; restoring again passes that over and does the rest.
extension VaultActor {
  /// What of a backup's configuration had no place yet.
  struct RestoredConfiguration: Sendable {
    var providers: [Provider] = []
    var policies: [StoredPolicy] = []
    var skipped: [SkippedItem] = []
  }

  func restore(_ providers: [Provider], _ policies: [StoredPolicy]) throws(AgentFailure) -> RestoredConfiguration {
    _ = try unlockedVault()
    var restored = RestoredConfiguration()
    for provider in providers {
      if self.providers[provider.configuration.name] == nil {
        restored.providers.append(provider)
      } else {
        restored.skipped.append(
          SkippedItem(kind: .provider, name: provider.configuration.name.text, reason: .alreadyThere))
      }
    }
    let known = try onVault { (vault) throws(VaultFailure) in try vault.policies() }
    for policy in policies {
      // Whatever its version: which of two is right is not for a backup to say.
      if known.contains(where: { $0.name == policy.name }) {
        restored.skipped.append(SkippedItem(kind: .policy, name: policy.name, reason: .alreadyThere))
      } else if known.count + restored.policies.count >= Self.mostPolicies {
        restored.skipped.append(SkippedItem(kind: .policy, name: policy.name, reason: .tooMany))
      } else {
        restored.policies.append(policy)
      }
    }
    let (news, entry) = (restored, audited(.agentRestore))
    let places = try onVault { (vault) throws(VaultFailure) -> [[UInt8]] in
      var changes = [entry]
      var places: [[UInt8]] = []
      for provider in news.providers {
        let place = try vault.place(of: provider.configuration.name)
        changes.append(.put(.vault, .provider, id: place, provider.record))
        places.append(place)
      }
      for policy in news.policies {
        changes.append(.put(.vault, .policy, id: try vault.place(ofPolicy: policy.name), policy.record))
      }
      try vault.apply(changes)
      return places
    }
    // One that was damaged is whole again.
    damagedProviders.subtract(places)
    for provider in restored.providers {
      self.providers[provider.configuration.name] = provider
      policyCache.setName(provider.configuration.policy, of: provider.configuration.name)
    }
    for policy in restored.policies {
      if let document = policy.parsed { policyCache.put(document) }
    }
    return restored
  }

  /// What became of one account.
  struct RestoredAccount: Sendable {
    /// Nil if it was left out.
    var profile: AccountProfile?
    var skipped: [SkippedItem] = []
  }

  /// `issuer`: the one that the backup's provider of that name has.
  func restore(_ account: BackedUpAccount, of provider: Provider?) throws(AgentFailure) -> RestoredAccount {
    var profile = account.profile
    func leaveOut(_ reason: SkippedItem.Reason, _ there: AccountID? = nil) -> RestoredAccount {
      RestoredAccount(skipped: [
        SkippedItem(kind: .account, name: profile.alias?.text ?? profile.id.text, account: there, reason: reason)
      ])
    }
    _ = try unlockedVault()
    guard let provider, let live = providers[profile.provider],
      live.configuration.issuer == provider.configuration.issuer
    else { return leaveOut(.providerDiffers) }
    if let known = self.profile(of: profile.identity, at: profile.provider) {
      return leaveOut(.alreadyThere, known.id)
    }
    if profiles[profile.id] != nil { profile.id = AccountID(bytes: entropy.bytes(AccountID.byteCount))! }
    var restored = RestoredAccount()
    if let alias = profile.alias, profiles.values.contains(where: { $0.alias == alias }) {
      restored.skipped.append(
        SkippedItem(kind: .alias, name: alias.text, account: profile.id, reason: .nameTaken))
      profile.alias = nil
    }
    profile.partition = PartitionID(bytes: entropy.bytes(PartitionID.byteCount))!
    profile.hasStepUp = account.stepUp != nil
    profile.stateSince = time.now(for: profile.provider)
    let (here, entry) = (profile, audited(.agentRestore, account: profile.id, .provider(profile.provider)))
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in
      try vault.apply(try account.changes(into: here, of: vault) + [entry])
    }
    profiles[profile.id] = profile
    tokenCache.setAccount(profile.id, alias: profile.alias)
    restored.profile = profile
    return restored
  }
}

extension BackedUpAccount {
  /// A new incarnation with keys of its own; what a PIN protects stays under it.
  fileprivate func changes(into profile: AccountProfile, of vault: Vault) throws(VaultFailure) -> [VaultChange] {
    let partition = profile.partition
    var changes: [VaultChange] = [.put(partition, .profile, profile.record)]
    if let rights { changes.append(.put(partition, .snapshot, rights.asOfAnotherVault.record)) }
    for (name, plain) in secrets {
      changes.append(.put(partition, .clientSecret, id: try vault.place(of: name), plain))
    }
    if let secretNames { changes.append(.put(partition, .clientSecretNames, secretNames)) }
    if let stepUp {
      changes += [.put(partition, .stepUp, stepUp.record.sealable), .put(partition, .pepper, stepUp.pepper)]
      changes += kept.map { .put(partition, .keptData, id: $0.id, $0.plain) }
      changes.append(.lockData(partition))
    }
    if profile.signInStatus == .signedIn, let grant {
      changes.append(.put(partition, .grant, grant))
      if let idToken { changes.append(.put(partition, .idToken, idToken)) }
    }
    return changes
  }
}

extension RightsMemory {
  /// How long ago it was told is known by the wall clock alone: this vault counts from its own beginning, so that it
  /// makes nothing younger.
  fileprivate var asOfAnotherVault: RightsMemory {
    var copy = self
    copy.scopes.toldAt.lived = .zero
    copy.roles?.toldAt.lived = .zero
    copy.entitlements?.toldAt.lived = .zero
    return copy
  }
}
