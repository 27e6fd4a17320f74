internal import AgentCore
internal import AgentModel
package import AgentOAuth
internal import AgentPorts
internal import AgentVault
internal import Secrets

extension OpenVault {
  package var restore: RestorePlan { RestorePlan(vault: self) }
}

/// The part of a backup's configuration that was not in the vault yet.
package struct RestoredConfiguration: Sendable {
  package var providers: [Provider] = []
  package var policies: [StoredPolicy] = []
  package var skipped: [SkippedItem] = []
}

/// The result of restoring one account.
package struct RestoredAccount: Sendable {
  /// Nil if it was left out.
  package var profile: AccountProfile?
  package var skipped: [SkippedItem] = []
}

/// Restores a backup without changing what is in the vault: an item that exists already is named and left out.
///
/// Providers and policies come first, in one transaction, then each account in one of its own. A crash leaves what was
/// taken in so far, all of it whole; restoring again passes that over and does the rest.
package struct RestorePlan {
  package let vault: OpenVault

  package func configuration(
    _ providers: [Provider], _ policies: [StoredPolicy]
  ) throws(AgentFailure) -> ChangeSet<RestoredConfiguration> {
    var restored = RestoredConfiguration()
    for provider in providers {
      if vault.directory.providers[provider.configuration.name] == nil {
        restored.providers.append(provider)
      } else {
        restored.skipped.append(
          SkippedItem(kind: .provider, name: provider.configuration.name.text, reason: .alreadyThere))
      }
    }
    let known = try vault.policies.all()
    for policy in policies {
      // Of any version: a backup can't say which of the two is right.
      if known.contains(where: { $0.name == policy.name }) {
        restored.skipped.append(SkippedItem(kind: .policy, name: policy.name, reason: .alreadyThere))
      } else if known.count + restored.policies.count >= PolicyStore.most {
        restored.skipped.append(SkippedItem(kind: .policy, name: policy.name, reason: .tooMany))
      } else {
        restored.policies.append(policy)
      }
    }
    var changes = [vault.audited(.agentRestore)]
    var memory: [MemoryChange] = []
    for provider in restored.providers {
      let place = try vault.providers.place(of: provider.configuration.name)
      changes.append(.put(.vault, .provider, id: place, provider.record))
      // One that was damaged is whole again.
      memory.append(.provider(provider, place: place))
    }
    for policy in restored.policies {
      changes.append(try vault.policies.putting(policy))
      if let document = policy.parsed { memory.append(.policy(document)) }
    }
    return ChangeSet(changes, memory: memory, result: restored)
  }

  /// `provider`: what the backup has under the account's provider name.
  package func account(_ account: BackedUpAccount, of provider: Provider?) throws(AgentFailure) -> ChangeSet<
    RestoredAccount
  > {
    var profile = account.profile
    func leaveOut(_ reason: SkippedItem.Reason, _ there: AccountID? = nil) -> ChangeSet<RestoredAccount> {
      let name = profile.alias?.text ?? profile.id.text
      return .unchanged(
        RestoredAccount(skipped: [SkippedItem(kind: .account, name: name, account: there, reason: reason)]))
    }
    guard let provider, let live = vault.directory.providers[profile.provider],
      live.configuration.issuer == provider.configuration.issuer
    else { return leaveOut(.providerDiffers) }
    if let known = vault.directory.profile(of: profile.identity, at: profile.provider) {
      return leaveOut(.alreadyThere, known.id)
    }
    if vault.directory.profiles[profile.id] != nil {
      profile.id = AccountID(bytes: vault.entropy.bytes(AccountID.byteCount))!
    }
    var restored = RestoredAccount()
    if let alias = profile.alias, vault.directory.profiles.values.contains(where: { $0.alias == alias }) {
      restored.skipped.append(
        SkippedItem(kind: .alias, name: alias.text, account: profile.id, reason: .nameTaken))
      profile.alias = nil
    }
    profile.partition = PartitionID(bytes: vault.entropy.bytes(PartitionID.byteCount))!
    profile.hasStepUp = account.stepUp != nil
    profile.stateSince = vault.time.now(for: profile.provider)
    restored.profile = profile
    let partition = profile
    let changes = try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) in
      try account.changes(into: partition, of: records)
    }
    return ChangeSet(
      changes + [vault.audited(.agentRestore, account: profile.id, .provider(profile.provider))],
      memory: [.account(profile)], of: profile.id, result: restored)
  }
}

extension BackedUpAccount {
  /// A new incarnation with keys of its own; what a PIN protects stays under it.
  fileprivate func changes(into profile: AccountProfile, of vault: Vault) throws(VaultFailure) -> [VaultChange] {
    let partition = profile.partition
    var changes: [VaultChange] = [.put(partition, .profile, profile.record)]
    if let rights { changes.append(.put(partition, .snapshot, rights.asOfAnotherVault.record)) }
    for (name, plain) in secrets {
      changes.append(.put(partition, .clientSecret, id: try vault.place(ofSecret: name), plain))
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
