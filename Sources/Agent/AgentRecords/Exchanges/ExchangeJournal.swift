package import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentPorts
package import AgentStore
package import AgentVault
package import Secrets

extension DeclaredKind {
  /// The provider's raw answer, before it is read (docs/tokens.md, Journal, 3).
  package static let staged = DeclaredKind(6, under: .token, .untilSignOut)
  /// The last ID token, for `id_token_hint` and for the claims that later ID tokens must repeat.
  package static let idToken = DeclaredKind(7, under: .token, .untilSignOut)
}

extension OpenVault {
  package var journal: ExchangeJournal { ExchangeJournal(vault: self) }
}

/// An account's grant as the vault stores it.
package struct LoadedGrant: Sendable {
  package var grant: GrantRecord
  var intent: ExchangeIntent?
  package var staged: StagedAnswer?
  package var idToken: Secret?
  package var tokens: AccessTokens?
  package var rights: RightsMemory?

  /// The journal's entry about the last request.
  package var journal: ExchangeMachine.JournalEntry {
    staged.map { .answer($0.intent) } ?? intent.map { .intent($0) } ?? .empty
  }
}

extension LoadedGrant {
  /// The live refresh token: a staged answer that was not read yet holds the only one.
  var livingRefreshToken: Secret? {
    staged.flatMap { TokenResponse(body: $0.body)?.refreshToken } ?? grant.refreshToken
  }
}

/// A provider's raw answer with its request, from which the exchange continues after a crash.
package struct StagedAnswer: Sendable {
  package var intent: ExchangeIntent
  package var body: Secret

  package init(intent: ExchangeIntent, body: Secret) {
    self.intent = intent
    self.body = body
  }
}

/// The place of an answer once it is durable.
package enum Kept: Sendable {
  case staged
  /// The vault is locked: the answer waits for the unlocking.
  case dropped
  /// The answer was not stored: the account was signed out meanwhile.
  case overtaken
}

/// An exchange as its commit left the account.
package struct FinishedExchange: Sendable {
  package var profile: AccountProfile
  package var rights: RightsChange?
}

/// What an exchange that brought no token leaves of the grant. The refresh token is not in it: one of a disabled account is
/// on the disk alone.
package struct FailedExchange: Sendable {
  var memory: GrantMemory
  /// The outcome is unknown, and that costs the person nothing yet (`GrantState.isDoubtHarmless`).
  var isDoubtHarmless: Bool
  /// The refresh token was another person's.
  package var forgetsRefreshToken = false

  package init(_ machine: TokenMachine, on clock: any AgentClock) {
    memory = GrantMemory(machine.memory, boot: clock.boot(), wall: clock.wall())
    if machine.health == .ok, machine.secretHasEnded(at: clock.boot()) {
      memory.health = .reauthenticate(reason: TokenMachine.secretExpired)
    }
    isDoubtHarmless = machine.health == .unknown && machine.isDoubtHarmless(at: clock.boot())
  }
}

/// The stored journal of refreshes (docs/tokens.md, Journal). The numbers are the journal's steps.
package struct ExchangeJournal {
  let vault: OpenVault

  /// Reads the whole initial state of an account's actor at one moment.
  package func open(
    _ id: AccountID
  ) throws(AgentFailure) -> (AccountProfile, LoadedGrant?, ProviderConfiguration.RefreshRule) {
    let profile = try vault.directory.profile(.id(id))
    if try vault.providers.isDamaged(profile.provider) { throw .provider(.damaged(profile.id)) }
    return (profile, try load(profile), vault.providerTable.all[profile.provider]?.refreshRule ?? .init())
  }

  package func load(_ profile: AccountProfile) throws(AgentFailure) -> LoadedGrant? {
    try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) in
      guard let plain = try records.read(profile.partition, .grant) else { return nil }
      guard let grant = GrantRecord(plain) else { throw .integrity }
      let intent = try records.read(profile.partition, .intent).flatMap { ExchangeIntent($0) }
      let staged = try records.read(profile.partition, .staged)
      return LoadedGrant(
        grant: grant, intent: intent,
        staged: intent.flatMap { intent in staged.map { StagedAnswer(intent: intent, body: $0) } },
        idToken: try records.read(profile.partition, .idToken),
        tokens: try records.read(profile.partition, .accessTokens).flatMap { AccessTokens($0) },
        rights: try records.rights(in: profile.partition))
    }
  }

  /// Before step 1: takes the next count of the store, and with it the anchor, so that of two agents on copies of one
  /// store only one sends a refresh token. False if both looked at the same moment, and the other one has it. Takes
  /// nothing for an account that has gone on, which `begin` tells.
  ///
  /// - Throws: `.rolledBack` if another copy of the store went on, and may have spent the refresh token.
  package func claim(for intent: ExchangeIntent, of id: AccountID) throws(AgentFailure) -> ChangeSet<Bool> {
    guard vault.directory.current(id, epoch: intent.epoch) != nil else { return .unchanged(true) }
    try requireNewest(id)
    let records = vault.records
    return ChangeSet([.claim], of: id) { _ in !records.rollbackGuard.isOvertaken }
  }

  /// Step 1: stores the intent once the connection stands and before the request is sent on it, if there is room for
  /// its answer, too.
  package func begin(
    _ intent: ExchangeIntent, of id: AccountID
  ) throws(AgentFailure) -> ChangeSet<ExchangeMachine.Beginning> {
    guard let profile = vault.directory.current(id, epoch: intent.epoch) else { return .unchanged(.overtaken) }
    try requireNewest(id)
    // A staged answer to an earlier request does not belong to this one.
    return ChangeSet(
      [.put(profile.partition, .intent, intent.record), .delete(profile.partition, .staged)], of: id, result: .durable)
  }

  /// Step 2: marks the durable intent as leaving. It is enough that the mark survives the process: after a power cut a
  /// missing one proves nothing (`ExchangeMachine.recover`). The next commit that is synced syncs it too.
  package func mark(_ leaving: ExchangeIntent, of id: AccountID) -> ChangeSet<ExchangeMachine.Marking> {
    guard let profile = vault.directory.current(id, epoch: leaving.epoch) else { return .unchanged(.overtaken) }
    var changes = ChangeSet(
      [.put(profile.partition, .intent, leaving.record)], of: id, result: ExchangeMachine.Marking.done)
    changes.durability = .kernel
    return changes
  }

  /// Throws if another copy of the store went on, or if the answer could not be stored.
  private func requireNewest(_ id: AccountID) throws(AgentFailure) {
    let isNewest = try vault.withRecords(of: id) { (records) throws(VaultFailure) in
      guard try records.isNewest() else { return false }
      try records.checkWritable()
      return true
    }
    guard isNewest else { throw .rolledBack }
  }

  /// Step 4: stores the raw answer before it is read.
  package func stage(_ body: Secret, for intent: ExchangeIntent, of id: AccountID) -> ChangeSet<Kept> {
    guard let profile = vault.directory.current(id, epoch: intent.epoch) else { return .unchanged(.overtaken) }
    return ChangeSet(
      [.put(profile.partition, .intent, intent.record), .put(profile.partition, .staged, body)], of: id,
      result: .staged)
  }

  /// Step 5: replaces the grant and empties the journal. Returns the account's new profile, and the change of its
  /// rights; nil if the account changed meanwhile.
  package func finish(
    _ intent: ExchangeIntent, of id: AccountID, grant: GrantRecord, bindingChanged: Bool, answer: TokenResponse,
    tokens: AccessTokens
  ) throws(AgentFailure) -> ChangeSet<FinishedExchange?> {
    guard var profile = vault.directory.current(id, epoch: intent.epoch) else { return .unchanged(nil) }
    let isOfThisBoot = intent.bootID == vault.clock.bootID
    if isOfThisBoot {
      // An answer of an earlier boot confirms the account, but its age is unknown.
      profile.lastOnlineAuthAt = vault.time.confirmed(by: profile.provider, sentAt: intent.boot)
    }
    var entry = note(grant.memory, in: &profile)
    profile.tokenBinding = grant.tokenBinding
    if bindingChanged {
      let binding = grant.isDowngraded ? "bearer" : "bound"
      entry.append(vault.audited(.sessionTokenBinding, account: profile.id, .state(binding)))
    }
    var changes: [VaultChange] = [
      .put(profile.partition, .grant, grant.record), .put(profile.partition, .profile, profile.record),
      .delete(profile.partition, .intent), .delete(profile.partition, .staged),
    ]
    if let idToken = answer.idToken { changes.append(.put(profile.partition, .idToken, idToken)) }
    changes.append(keeping(tokens, of: profile))
    let told = vault.providerTable.all[profile.provider]?.rights(
      in: answer, for: intent.key, scopes: grant.scopes, source: .refresh)
    var rightsChange: RightsChange?
    if let told,
      let (news, change) = try vault.rights.join(
        told, at: isOfThisBoot ? profile.lastOnlineAuthAt : nil, of: profile)
    {
      rightsChange = news
      changes.append(change)
    }
    let learned = try learnReuse(from: answer, to: intent, provider: profile.provider)
    return ChangeSet(
      changes + learned.changes + entry + vault.trustedTime.changes, memory: [.account(profile)] + learned.memory,
      of: id, result: FinishedExchange(profile: profile, rights: rightsChange))
  }

  /// The answer shows whether the provider rotates refresh tokens. Changes its record only if that is new.
  private func learnReuse(
    from answer: TokenResponse, to intent: ExchangeIntent, provider name: ProviderName
  ) throws(AgentFailure) -> (changes: [VaultChange], memory: [MemoryChange]) {
    guard var provider = vault.providerTable.all[name] else { return ([], []) }
    let broughtAnother = answer.refreshToken.map { Fingerprint.of($0) != intent.fingerprint } ?? false
    guard provider.learnReuse(broughtAnother: broughtAnother) else { return ([], []) }
    let place = try vault.providers.place(of: name)
    return ([.put(.vault, .provider, id: place, provider.record)], [.provider(provider, place: place)])
  }

  /// Stores the state of the grant after a failed exchange, and ends or keeps its journal entry. Nil if the account
  /// changed meanwhile.
  package func settle(
    epoch: UInt64, of id: AccountID, _ failed: FailedExchange, journal: ExchangeMachine.JournalEnd
  ) throws(AgentFailure) -> ChangeSet<AccountProfile?> {
    guard var profile = vault.directory.current(id, epoch: epoch), var grant = try load(profile)?.grant else {
      return .unchanged(nil)
    }
    grant.memory = failed.memory
    if failed.forgetsRefreshToken { grant.refreshToken = nil }
    let entry = note(failed.memory, isDoubtHarmless: failed.isDoubtHarmless, in: &profile)
    var changes: [VaultChange] = [
      .put(profile.partition, .grant, grant.record), .put(profile.partition, .profile, profile.record),
    ]
    switch journal {
    case .done: changes.append(.delete(profile.partition, .intent))
    case .inDoubt(let intent): changes.append(.put(profile.partition, .intent, intent.record))
    }
    changes.append(.delete(profile.partition, .staged))
    if !failed.memory.health.servesTokens { changes.append(.delete(profile.partition, .accessTokens)) }
    return ChangeSet(
      changes + entry + vault.trustedTime.changes, memory: [.account(profile)], of: id, result: profile)
  }

  /// Stores what lists show of the grant, whose journal stays.
  package func note(_ failed: FailedExchange, of id: AccountID, epoch: UInt64) -> ChangeSet<AccountProfile?> {
    guard var profile = vault.directory.current(id, epoch: epoch) else { return .unchanged(nil) }
    let entry = note(failed.memory, isDoubtHarmless: failed.isDoubtHarmless, in: &profile)
    return ChangeSet(
      [.put(profile.partition, .profile, profile.record)] + entry + vault.trustedTime.changes,
      memory: [.account(profile)], of: id, result: profile)
  }

  /// Stores what the loading of the account found out about the journal's request. Changes nothing if the account
  /// changed since: a request that was sent meanwhile has its own intent in the journal.
  package func correct(
    _ intent: ExchangeIntent, of id: AccountID, generation: UInt64, _ failed: FailedExchange,
    end: ExchangeMachine.JournalEnd
  ) throws(AgentFailure) -> ChangeSet<AccountProfile?> {
    guard let profile = vault.directory.current(id, epoch: intent.epoch), let found = try load(profile),
      case .intent(intent) = found.journal, found.grant.generation == generation
    else { return .unchanged(nil) }
    return try settle(epoch: intent.epoch, of: id, failed, journal: end)
  }

  /// Stores the access tokens if the provider is marked `persistAccessTokens`; deletes them otherwise.
  func keeping(_ tokens: AccessTokens, of profile: AccountProfile) -> VaultChange {
    vault.providerTable.all[profile.provider]?.configuration.persistAccessTokens == true
      ? .put(profile.partition, .accessTokens, tokens.record) : .delete(profile.partition, .accessTokens)
  }

  /// Updates the facts about the grant that lists show, and adds an audit entry if the account's durable state changes.
  func note(
    _ memory: GrantMemory, isDoubtHarmless: Bool = false, in profile: inout AccountProfile
  ) -> [VaultChange] {
    let (before, told) = (profile.restingState, vault.tables.tokenCache.session(of: profile))
    profile.remember(memory, isDoubtHarmless: isDoubtHarmless)
    // The loading of an account tells a state before it stores it.
    if profile.restingState == told.state { profile.stateSince = told.since ?? profile.stateSince }
    profile.noteState(after: told.state, at: vault.time.now(for: profile.provider))
    guard before != profile.restingState else { return [] }
    return [
      vault.audited(
        .sessionStateChanged, account: profile.id, .state(profile.restingState.rawValue),
        .previousState(before.rawValue))
    ]
  }
}
