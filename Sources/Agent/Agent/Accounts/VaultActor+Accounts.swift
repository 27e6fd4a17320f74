internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// The directory: who there is, what they are called, who is active.
extension VaultActor {
  var sortedProfiles: [AccountProfile] {
    get throws(AgentFailure) {
      _ = try unlockedVault()
      return profiles.values.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }
  }

  func profile(_ selector: AccountSelector) throws(AgentFailure) -> AccountProfile {
    _ = try unlockedVault()
    switch selector {
    case .active:
      guard let active, let profile = profiles[active] else { throw .noActiveAccount }
      return profile
    case .id(let id):
      guard let profile = profiles[id] else { throw notFound }
      return profile
    case .alias(let alias):
      let matches = profiles.values.filter { $0.alias?.text == alias }.sorted { $0.id < $1.id }
      guard let first = matches.first else { throw notFound }
      guard matches.count == 1 else { throw .accountAmbiguous(matches.map(\.id)) }
      return first
    }
  }

  /// The account that a person has at a provider, signed in or not.
  func profile(of identity: Identity, at provider: ProviderName) -> AccountProfile? {
    profiles.values.first { $0.identity == identity && $0.provider == provider }
  }

  /// What to say of a name that nobody has. Where a profile does not open, it may be that one's.
  private var notFound: AgentFailure { damagedPartitions.isEmpty ? .accountNotFound : .vault(.integrity) }

  /// Every account that a person's word may mean: its id, its alias, or a mail address.
  func matches(_ word: String) throws(AgentFailure) -> [AccountProfile] {
    let all = try sortedProfiles
    let exact = all.filter { $0.id.text == word || $0.alias?.text == word }
    return exact.isEmpty ? all.filter { $0.email == word } : exact
  }

  func listing() throws(AgentFailure) -> ([AccountProfile], active: AccountID?) { (try sortedProfiles, active) }

  /// The accounts that hang on a provider.
  func accounts(of provider: ProviderName) throws(AgentFailure) -> [AccountID] {
    try sortedProfiles.filter { $0.provider == provider }.map(\.id)
  }

  func rename(
    _ selector: AccountSelector, to alias: Alias
  ) throws(AgentFailure) -> (AccountProfile, previous: Alias?) {
    var profile = try profile(selector)
    let previous = profile.alias
    try requireFree(alias, for: profile.id)
    profile.alias = alias
    try save(profile, audited(.accountRename, account: profile.id))
    return (profile, previous)
  }

  func requireFree(_ alias: Alias, for id: AccountID?) throws(AgentFailure) {
    if let other = profiles.values.first(where: { $0.alias == alias && $0.id != id }) {
      throw .accountAmbiguous([other.id])
    }
  }

  /// As far as it can be told before anybody has signed in: an account of the same provider may be the very one that
  /// signs in again under its name, and is looked at when it is known who came.
  func requirePossible(_ alias: Alias, at provider: ProviderName) throws(AgentFailure) {
    if let other = profiles.values.first(where: { $0.alias == alias && $0.provider != provider }) {
      throw .accountAmbiguous([other.id])
    }
  }

  /// The vault is open and the disk takes writes, as far as that can be told before.
  func requireWritable() throws(AgentFailure) {
    try onVault { (vault) throws(VaultFailure) in try vault.checkWritable() }
  }

  /// Moves `@active`, and tells who it was before.
  func activate(_ selector: AccountSelector) throws(AgentFailure) -> (active: AccountProfile, previous: AccountID?) {
    let profile = try profile(selector)
    guard profile.signInStatus == .signedIn else {
      throw .signedOut(profile.id, during: .activation)
    }
    let previous = active
    if previous != profile.id {
      let entry = audited(.accountSwitch, account: profile.id)
      try onVault { (vault) throws(VaultFailure) in
        try vault.apply([Self.activeRecord(profile.id), entry])
      }
      active = profile.id
      tokenCache.setActive(profile.id)
    }
    return (profile, previous)
  }

  private func damage(of profile: AccountProfile) -> VaultFailure? {
    guard let vault else { return nil }
    do throws(VaultFailure) {
      _ = try vault.read(profile.partition, .grant)
      _ = try vault.rights(of: profile)
      return nil
    } catch {
      return error
    }
  }

  static func activeRecord(_ id: AccountID) -> VaultChange {
    .put(.vault, .activeAccount, RecordCoding.write { $0.member("account", id.text) })
  }

  func save(_ profile: AccountProfile, _ entry: VaultChange) throws(AgentFailure) {
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in
      try vault.apply([.put(profile.partition, .profile, profile.record), entry])
    }
    profiles[profile.id] = profile
    tokenCache.setAccount(profile.id, alias: profile.alias)
  }

  // MARK: signing in

  /// What a completed sign-in brings into the vault.
  struct Admission: Sendable {
    var identity: Identity
    var provider: ProviderName
    var alias: Alias?
    var displayName: String?
    var email: String?
    var grant: GrantRecord
    var idToken: Secret?
    var tokens: AccessTokens
    /// What the answers say of the person's rights.
    var told: RightsUpdate
    /// When the request left whose answer this is.
    var sentAt: BootInstant
    /// The account that the person said they are signing in again.
    var expected: AccountID?
  }

  struct Admitted: Sendable {
    var profile: AccountProfile
    var grant: GrantRecord
    var tokens: AccessTokens
    var heard: RightsChange?
    var isNew: Bool
    var becameActive: Bool
    var previousState: AccountState
    /// Revocations that were given up, since they would have ended this sign-in.
    var superseded: [OutboxEntry]
    /// In which opening of the vault this happened.
    var unlockGeneration: UInt64
  }

  /// One durable transaction: the account is there with its grant, or nothing is. The same identity lands on the same
  /// account id, also after it was signed out.
  func admit(_ admission: Admission) throws(AgentFailure) -> Admitted {
    let known = profile(of: admission.identity, at: admission.provider)
    if let expected = admission.expected, known?.id != expected {
      throw .signIn(.otherPerson)
    }
    if let alias = admission.alias { try requireFree(alias, for: known?.id) }
    var profile: AccountProfile
    if let known {
      profile = known
      profile.signInStatus = .signedIn
      profile.epoch += 1
    } else {
      profile = AccountProfile(
        id: AccountID(bytes: entropy.bytes(AccountID.byteCount))!,
        partition: PartitionID(bytes: entropy.bytes(PartitionID.byteCount))!, identity: admission.identity,
        provider: admission.provider, createdAt: clock.wall())
    }
    // A partition that was tampered with is not repaired: a new incarnation takes its place.
    var replaced: [VaultChange] = []
    if known != nil, case .integrity? = damage(of: profile) {
      replaced = [.destroy(profile.partition)]
      profile.hasStepUp = false
      profile.partition = PartitionID(bytes: entropy.bytes(PartitionID.byteCount))!
    }
    profile.alias = admission.alias ?? profile.alias
    profile.displayName = admission.displayName ?? profile.displayName
    profile.email = admission.email ?? profile.email
    profile.lastOnlineAuthAt = time.confirmed(by: profile.provider, sentAt: admission.sentAt)
    profile.remember(GrantMemory(health: .ok))
    profile.noteState(after: known?.restingState, at: time.now(for: profile.provider))
    var grant = admission.grant
    if let previous = try? loadGrant(of: profile) { grant.generation = previous.grant.generation + 1 }
    var tokens = admission.tokens
    tokens.belong(to: grant.generation)
    var changes: [VaultChange] = [
      .put(profile.partition, .profile, profile.record), .put(profile.partition, .grant, grant.record),
      .delete(profile.partition, .intent), .delete(profile.partition, .staged),
    ]
    changes += replaced.isEmpty ? forgettingDestroyedStepUp(of: profile) : replaced
    let superseded = try superseded(by: profile.identity, at: profile.provider)
    changes += superseded.map { .delete(.vault, .outbox, id: $0.id) }
    changes.append(
      admission.idToken.map { .put(profile.partition, .idToken, $0) } ?? .delete(profile.partition, .idToken))
    changes.append(keeping(tokens, of: profile))
    let heard = try hear(admission.told, at: profile.lastOnlineAuthAt, of: profile)
    if let heard { changes.append(heard.1) }
    let becomesActive = active == nil
    if becomesActive { changes.append(Self.activeRecord(profile.id)) }
    changes += superseded.map {
      audited(.revocationAbandoned, account: profile.id, .reason("superseded"), .issuer($0.issuer))
    }
    changes.append(audited(.signIn, account: profile.id, .provider(profile.provider), .isNew(known == nil)))
    let all = changes + timeRecord
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in try vault.apply(all) }
    profiles[profile.id] = profile
    if becomesActive { active = profile.id }
    tokenCache.setAccount(profile.id, alias: profile.alias)
    if becomesActive { tokenCache.setActive(profile.id) }
    return Admitted(
      profile: profile, grant: grant, tokens: tokens, heard: heard?.0, isNew: known == nil, becameActive: becomesActive,
      previousState: known.map { tokenCache.state(of: $0.id) ?? $0.restingState } ?? .signedOut, superseded: superseded,
      unlockGeneration: unlockGeneration)
  }
}
