internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPermissions
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import AgentVault
internal import Secrets

extension OpenVault {
  var restore: RestorePlan { RestorePlan(vault: self) }
}

/// The part of a backup's configuration that was not in the vault yet.
struct RestoredConfiguration: Sendable {
  var providers: [Provider] = []
  var policies: [StoredPolicy] = []
  var skipped: [SkippedItem] = []
}

/// The result of restoring one account.
struct RestoredAccount: Sendable {
  /// Nil if it was left out.
  var profile: AccountProfile?
  var skipped: [SkippedItem] = []
  /// Revocations that were given up, since they would have ended its login.
  var superseded: [OutboxEntry] = []
}

/// Restores a backup without changing existing items: an item that exists already is skipped and reported.
///
/// One transaction restores providers and policies, then one restores each account. After a crash the restored items
/// are complete; another restore skips them and adds the rest.
struct RestorePlan {
  let vault: OpenVault

  func configuration(
    _ providers: [Provider], _ policies: [StoredPolicy]
  ) throws(AgentFailure) -> ChangeSet<RestoredConfiguration> {
    var restored = RestoredConfiguration()
    for var provider in providers {
      // Of another machine, perhaps: only a file of this one makes it a provider again.
      provider.isGone = provider.managedBy != nil
      if vault.providerTable.all[provider.configuration.name] == nil {
        restored.providers.append(provider)
      } else {
        restored.skipped.append(
          SkippedItem(kind: .provider, name: provider.configuration.name.text, reason: .alreadyThere))
      }
    }
    let known = try vault.policies.all()
    for policy in policies {
      // Also if its version is higher: a backup does not show which of the two policies is right.
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
      // The backup replaces a damaged provider record.
      memory.append(.provider(provider, place: place))
    }
    for policy in restored.policies {
      changes.append(try vault.policies.putting(policy))
      if let document = policy.parsed { memory.append(.policy(document)) }
    }
    return ChangeSet(changes, memory: memory, result: restored).onlyIntoFreeRoom
  }

  /// `provider`: the backup's provider of the account. `rules`: those of the backup that name the account.
  func account(
    _ account: BackedUpAccount, of provider: Provider?, _ rules: [AccountRule]
  ) throws(AgentFailure) -> ChangeSet<RestoredAccount> {
    var account = account
    var profile = account.profile
    func leaveOut(_ reason: SkippedItem.Reason, _ there: AccountID? = nil) -> ChangeSet<RestoredAccount> {
      let name = profile.alias?.text ?? profile.id.text
      return .unchanged(
        RestoredAccount(skipped: [SkippedItem(kind: .account, name: name, account: there, reason: reason)]))
    }
    guard let provider, let live = vault.providerTable.all[profile.provider],
      equalCodePoints(live.configuration.issuer, provider.configuration.issuer)
    else { return leaveOut(.providerDiffers) }
    if let known = try vault.profile(of: profile.identity, at: profile.provider) {
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
    profile.isIssuedElsewhere = !live.mayReceive(profile.issuedBy)
    profile.partition = PartitionID(bytes: vault.entropy.bytes(PartitionID.byteCount))!
    if let record = account.stepUp?.record { account.stepUp?.record = try vault.spentAttempts.including(record) }
    profile.hasStepUp = account.stepUp?.record.isDestroyed == false
    profile.stateSince = vault.time.now(for: profile.provider)
    restored.profile = profile
    let (partition, content) = (profile, account)
    let changes = try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) in
      try content.changes(into: partition, of: records)
    }
    let superseded = try account.login.map { login throws(AgentFailure) in
      try vault.outbox.superseded(by: login, of: profile.id)
    }
    restored.superseded = superseded?.entries ?? []
    let rules = vault.rules.restoring(rules, for: profile.id)
    return ChangeSet(
      changes + (superseded?.changes ?? []) + rules.map { .put(.vault, .rule, id: $0.id, $0.record) }
        + [vault.audited(.agentRestore, account: profile.id, .provider(profile.provider))],
      memory: [.account(profile)] + rules.map { .rule($0) }, of: profile.id, result: restored
    ).onlyIntoFreeRoom
  }
}

extension BackedUpAccount {
  /// The login that it brings back; nil if it is signed out.
  fileprivate var login: ProtectedLogin? {
    guard profile.signInStatus == .signedIn, let grant = restoredGrant else { return nil }
    return ProtectedLogin(
      identity: profile.identity, issuedBy: profile.issuedBy,
      tokens: grant.refreshToken.map { [$0] } ?? [], mayShareFamily: grant.cameFromElsewhere)
  }

  private var restoredGrant: GrantRecord? {
    var restored = grant.flatMap { GrantRecord($0) }
    // The copy may be older than a token that waits, and of the same family.
    if profile.kind == .openid { restored?.cameFromElsewhere = true }
    return restored
  }

  /// The changes that add the account as a new incarnation with its own keys. Data under a PIN stays under it.
  fileprivate func changes(into profile: AccountProfile, of vault: Vault) throws(VaultFailure) -> [VaultChange] {
    let partition = profile.partition
    var changes: [VaultChange] = [.put(partition, .profile, profile.record)]
    if let rights { changes.append(.put(partition, .snapshot, rights.asOfAnotherVault.record)) }
    let places = try vault.places()
    for (kind, plain) in data {
      changes.append(.put(partition, kind, id: try places.id(of: kind, copying: plain), plain))
    }
    if let stepUp { changes.append(.put(partition, .stepUp, stepUp.record.sealable)) }
    // Data under a destroyed PIN can't be opened any more.
    if let stepUp, !stepUp.record.isDestroyed {
      changes.append(.put(partition, .pepper, stepUp.pepper))
      changes += kept.map { .put(partition, .keptData, id: $0.id, $0.plain) }
      changes.append(.lockData(partition))
    }
    if profile.signInStatus == .signedIn, let grant {
      changes.append(.put(partition, .grant, restoredGrant?.record ?? grant))
      if let idToken { changes.append(.put(partition, .idToken, idToken)) }
    }
    return changes
  }
}

extension RightsMemory {
  /// The age of the rights by the wall clock alone. The lived time of another vault says nothing here: this vault
  /// counts from its own beginning, so that no rights become younger.
  fileprivate var asOfAnotherVault: RightsMemory {
    var copy = self
    copy.scopes.toldAt.lived = .zero
    copy.roles?.toldAt.lived = .zero
    copy.entitlements?.toldAt.lived = .zero
    return copy
  }
}
