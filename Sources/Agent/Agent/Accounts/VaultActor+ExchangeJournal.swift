internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// The journal of refreshes on the disk (docs/tokens.md, Journal). Each call is one durable transaction.
extension VaultActor {
  struct LoadedGrant: Sendable {
    var grant: GrantRecord
    var intent: ExchangeIntent?
    var staged: StagedAnswer?
    var idToken: Secret?
    var tokens: AccessTokens?
    var rights: RightsMemory?

    var journal: ExchangeMachine.JournalEntry {
      staged.map { .answer($0.intent) } ?? intent.map { .intent($0) } ?? .empty
    }
  }

  /// A provider's answer as it came, with the request that it answers: enough to go on after a crash.
  struct StagedAnswer: Sendable {
    var intent: ExchangeIntent
    var body: Secret
  }

  /// Everything that an account's actor begins with, as one moment of the store.
  func open(
    _ id: AccountID
  ) throws(AgentFailure) -> (AccountProfile, LoadedGrant?, ProviderConfiguration.RefreshRule) {
    let profile = try profile(.id(id))
    if try isDamaged(profile.provider) { throw .provider(.damaged(profile.id)) }
    let rule = providers[profile.provider]?.configuration.refresh ?? .init()
    return (profile, try loadGrant(of: profile), rule)
  }

  func loadGrant(of profile: AccountProfile) throws(AgentFailure) -> LoadedGrant? {
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in
      guard let plain = try vault.read(profile.partition, .grant) else { return nil }
      guard let grant = GrantRecord(plain) else { throw .integrity }
      let intent = try vault.read(profile.partition, .intent).flatMap { ExchangeIntent($0) }
      let staged = try vault.read(profile.partition, .staged)
      return LoadedGrant(
        grant: grant, intent: intent,
        staged: intent.flatMap { intent in staged.map { StagedAnswer(intent: intent, body: $0) } },
        idToken: try vault.read(profile.partition, .idToken),
        tokens: try vault.read(profile.partition, .accessTokens).flatMap { AccessTokens($0) },
        rights: try vault.rights(of: profile))
    }
  }

  /// 1: durable before anything is sent, and only if the answer could be kept too. False if the account has gone on.
  func begin(_ intent: ExchangeIntent, of id: AccountID) throws(AgentFailure) -> Bool {
    guard let profile = current(id, epoch: intent.epoch) else { return false }
    try onVault(account: id) { (vault) throws(VaultFailure) in
      try vault.checkWritable()
      // An answer of before does not belong to this request.
      try vault.apply([.put(profile.partition, .intent, intent.record), .delete(profile.partition, .staged)])
    }
    return true
  }

  /// Where an answer is once it is durable.
  enum Kept: Sendable {
    case staged
    /// The vault is locked: the answer waits for the unlocking.
    case dropped
    /// Nowhere: the account was signed out meanwhile.
    case overtaken
  }

  /// 3: the raw answer, before anything in it is judged.
  func stage(_ body: Secret, for intent: ExchangeIntent, of id: AccountID) throws(AgentFailure) -> Kept {
    guard vaultIsOpen else {
      try drop(.answer(StagedAnswer(intent: intent, body: body), of: id))
      return .dropped
    }
    guard let profile = current(id, epoch: intent.epoch) else { return .overtaken }
    try onVault(account: id) { (vault) throws(VaultFailure) in
      try vault.apply([
        .put(profile.partition, .intent, intent.record), .put(profile.partition, .staged, body),
      ])
    }
    return .staged
  }

  /// 4: the new grant takes the old one's place, and the journal is empty again. The account as it is now, and what the
  /// answer says of its rights; nil if it has gone on.
  func finish(
    _ intent: ExchangeIntent, of id: AccountID, grant: GrantRecord, answer: TokenResponse, tokens: AccessTokens
  ) throws(AgentFailure) -> (AccountProfile, RightsChange?)? {
    _ = try unlockedVault()
    guard var profile = current(id, epoch: intent.epoch) else { return nil }
    if intent.bootID == clock.bootID {
      // An answer of an earlier boot confirms the account, but nobody knows any more how long ago.
      profile.lastOnlineAuthAt = time.confirmed(by: profile.provider, sentAt: intent.boot)
    }
    profile.remember(grant.memory)
    profile.noteState(after: profiles[id]?.restingState, at: time.now(for: profile.provider))
    var changes: [VaultChange] = [
      .put(profile.partition, .grant, grant.record), .put(profile.partition, .profile, profile.record),
      .delete(profile.partition, .intent), .delete(profile.partition, .staged),
    ]
    if let idToken = answer.idToken { changes.append(.put(profile.partition, .idToken, idToken)) }
    changes.append(keeping(tokens, of: profile))
    var heard: RightsChange?
    if let told = providers[profile.provider]?.rights(
      in: answer, for: intent.key, scopes: grant.scopes, source: .refresh),
      let (news, change) = try hear(
        told, at: intent.bootID == clock.bootID ? profile.lastOnlineAuthAt : nil, of: profile)
    {
      heard = news
      changes.append(change)
    }
    let all = changes + stateChange(to: profile) + timeRecord
    try onVault(account: id) { (vault) throws(VaultFailure) in try vault.apply(all) }
    profiles[id] = profile
    return (profile, heard)
  }

  /// The access tokens, where the provider's are kept; a mark that was taken away takes those along that were.
  func keeping(_ tokens: AccessTokens, of profile: AccountProfile) -> VaultChange {
    providers[profile.provider]?.configuration.persistAccessTokens == true
      ? .put(profile.partition, .accessTokens, tokens.record) : .delete(profile.partition, .accessTokens)
  }

  /// The exchange brought no token: what is known of the grant, and whether the journal is done with it.
  func settle(epoch: UInt64, of id: AccountID, grant: GrantRecord, journal: ExchangeMachine.JournalEnd)
    throws(AgentFailure)
  {
    guard var profile = current(id, epoch: epoch) else { return }
    profile.remember(grant.memory)
    profile.noteState(after: profiles[id]?.restingState, at: time.now(for: profile.provider))
    var changes: [VaultChange] = [
      .put(profile.partition, .grant, grant.record), .put(profile.partition, .profile, profile.record),
    ]
    switch journal {
    case .done: changes += [.delete(profile.partition, .intent), .delete(profile.partition, .staged)]
    case .inDoubt(let intent):
      changes += [.put(profile.partition, .intent, intent.record), .delete(profile.partition, .staged)]
    }
    let all = changes + stateChange(to: profile) + timeRecord
    try onVault(account: id) { (vault) throws(VaultFailure) in try vault.apply(all) }
    profiles[id] = profile
  }

  /// The audit log's entry, if what is durable of the account's state changes.
  private func stateChange(to profile: AccountProfile) -> [VaultChange] {
    guard let before = profiles[profile.id]?.restingState, before != profile.restingState else { return [] }
    return [
      audited(
        .sessionStateChanged, account: profile.id, .state(profile.restingState.rawValue),
        .previousState(before.rawValue))
    ]
  }

  /// Nothing left this machine: the intent is taken back.
  func withdraw(_ intent: ExchangeIntent, of id: AccountID) throws(AgentFailure) {
    guard let profile = current(id, epoch: intent.epoch) else { return }
    try onVault(account: id) { (vault) throws(VaultFailure) in
      try vault.apply([.delete(profile.partition, .intent)])
    }
  }

  /// The account, if it is still in the epoch in which the work began: a late answer changes nothing.
  func current(_ id: AccountID, epoch: UInt64) -> AccountProfile? {
    profiles[id].flatMap { $0.epoch == epoch && $0.signInStatus == .signedIn ? $0 : nil }
  }
}
