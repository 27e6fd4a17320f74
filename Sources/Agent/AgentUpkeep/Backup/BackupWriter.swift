internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPermissions
internal import AgentPorts
internal import AgentRecords
internal import AgentVault
internal import Secrets

/// Copies the durable part of one vault into another: accounts, configuration, and the data of programs. It leaves out
/// access tokens, journals, outstanding work, and this machine's time record.
struct BackupWriter {
  private let source: Vault
  private let target: Vault
  private let includesRefreshTokens: Bool

  private(set) var accounts = 0
  private(set) var providers = 0
  private(set) var policies = 0
  private(set) var skipped: [SkippedItem] = []

  /// The number of accounts in one transaction: more would be in memory at once.
  private static let accountsAtOnce = 64

  init(from source: Vault, to target: Vault, includesRefreshTokens: Bool) {
    self.source = source
    self.target = target
    self.includesRefreshTokens = includesRefreshTokens
  }

  mutating func write(_ manifest: BackupManifest) throws(VaultFailure) {
    var changes: [VaultChange] = [.put(.vault, .backup, manifest.record)]
    for (_, plain) in try source.readEach(.provider) {
      // Skip a damaged provider, so that the others are still saved.
      guard let plain, let provider = Provider(plain) else {
        skipped.append(SkippedItem(kind: .provider, name: "a provider", reason: .damaged))
        continue
      }
      let place = try target.places().id(of: .provider, provider.configuration.name.text)
      changes.append(.put(.vault, .provider, id: place, plain))
      providers += 1
    }
    for (_, plain) in try source.readEach(.policy) {
      guard let policy = plain.flatMap({ StoredPolicy($0) }) else {
        skipped.append(SkippedItem(kind: .policy, name: "a policy", reason: .damaged))
        continue
      }
      changes.append(.put(.vault, .policy, id: try target.places().id(of: .policy, policy.name), policy.record))
      policies += 1
    }
    for (id, plain) in try source.readEach(.rule) {
      // `lanyard doctor` names a damaged one; what it said can't be told.
      guard let rule = plain.flatMap({ AccountRule($0, id: id) }) else { continue }
      changes.append(.put(.vault, .rule, id: id, rule.record))
    }
    try target.apply(changes)
    var found: [(PartitionID, AccountID?)] = []
    try source.forEachPartition(by: .profile) { partition, plain in
      let profile = plain.flatMap { AccountProfile($0, partition: partition) }
      // Of an erased account there is nothing to keep: another vault could not even tell whose it was.
      guard profile?.isErased != true else { return }
      found.append((partition, profile?.id))
    }
    for batch in stride(from: 0, to: found.count, by: Self.accountsAtOnce) {
      var changes: [VaultChange] = []
      for (partition, id) in found[batch..<min(batch + Self.accountsAtOnce, found.count)] {
        do throws(VaultFailure) {
          changes += try account(in: partition)
          accounts += 1
        } catch {
          guard error == .integrity else { throw error }
          skipped.append(
            SkippedItem(kind: .account, name: id?.text ?? "an account", account: id, reason: .damaged))
        }
      }
      try target.apply(changes)
    }
  }

  private mutating func account(in partition: PartitionID) throws(VaultFailure) -> [VaultChange] {
    guard let plain = try source.read(partition, .profile),
      let profile = AccountProfile(plain, partition: partition)
    else { throw .integrity }
    let grant = try grant(of: profile)
    var kept = profile.backedUp(withGrant: !grant.isEmpty)
    var changes = grant
    if let rights = try source.read(partition, .snapshot) { changes.append(.put(partition, .snapshot, rights)) }
    changes += try data(of: profile, &kept)
    changes.append(.put(partition, .profile, kept.record))
    return changes
  }

  /// Copies the grant only if `includesRefreshTokens`, and only if no exchange is sending its token: the outcome
  /// decides whether that token still lives.
  private mutating func grant(of profile: AccountProfile) throws(VaultFailure) -> [VaultChange] {
    // A secret stays where it was given.
    guard includesRefreshTokens, profile.kind == .openid, profile.signInStatus == .signedIn,
      let plain = try source.read(profile.partition, .grant)
    else { return [] }
    guard try source.read(profile.partition, .intent) == nil, try source.read(profile.partition, .staged) == nil else {
      skipped.append(
        SkippedItem(kind: .refreshToken, name: profile.id.text, account: profile.id, reason: .inUse))
      return []
    }
    var changes: [VaultChange] = [.put(profile.partition, .grant, plain)]
    if let idToken = try source.read(profile.partition, .idToken) {
      changes.append(.put(profile.partition, .idToken, idToken))
    }
    return changes
  }

  /// Copies data under a PIN as it is sealed, with the PIN's record: only the PIN opens it, also for a person who has
  /// the backup's passphrase.
  private func data(of profile: AccountProfile, _ kept: inout AccountProfile) throws(VaultFailure) -> [VaultChange] {
    let partition = profile.partition
    if let plain = try source.read(partition, .stepUp) {
      guard var record = StepUpRecord(plain) else { throw .integrity }
      if let lock = record.lock, !record.isDestroyed {
        record.lock?.place = lock.place ?? partition.bytes
        kept.hasStepUp = true
        let pepper = try source.pepper(for: partition)
        return [.put(partition, .stepUp, record.sealable), .put(partition, .pepper, pepper.secret)]
          + (try KeptRecords(of: partition, in: source).all()).map { .put(partition, .keptData, id: $0.id, $0.plain) }
      }
    }
    kept.hasStepUp = false
    // Data under a destroyed PIN can't be opened any more.
    guard try !source.isDataLocked(partition) else { return [] }
    let places = try target.places()
    var changes: [VaultChange] = []
    for kind in source.kinds.copied {
      for (_, plain) in try source.readAll(partition, kind) {
        changes.append(.put(partition, kind, id: try places.id(of: kind, copying: plain), plain))
      }
    }
    return changes
  }
}

extension AccountProfile {
  /// The profile in the backup: as after a soft sign-out, unless the grant is included. `lastOnlineAuthAt` is left out
  /// in both cases, since the provider may have changed the account since.
  fileprivate func backedUp(withGrant: Bool) -> AccountProfile {
    var copy = self
    copy.lastOnlineAuthAt = nil
    copy.signedInAt = nil
    guard !withGrant else { return copy }
    if copy.signInStatus == .signedIn { copy.signInStatus = .signedOutSoft }
    copy.epoch += 1
    copy.remember(GrantMemory(health: .signedOut))
    return copy
  }
}
