internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentRecords
internal import AgentStore
internal import AgentVault
internal import Secrets

/// The calls of one account to its journal in the vault (`ExchangeJournal`): each is one transaction, and defines what
/// an exchange finds if the vault was locked meanwhile.
struct AccountJournal {
  let vault: VaultActor
  let id: AccountID

  func open() async throws(AgentFailure) -> (AccountProfile, LoadedGrant?, ProviderConfiguration.RefreshRule) {
    try await vault.read { vault throws(AgentFailure) in try vault.journal.open(id) }
  }

  /// Overtaken if the account has gone on, or the vault was locked.
  func begin(_ intent: ExchangeIntent) async throws(AgentFailure) -> ExchangeMachine.Beginning {
    // The anchor is written before the intent: a death in between leaves no request in doubt.
    let hasClaimed = try await vault.commitIfOpen { vault throws(AgentFailure) in
      try vault.journal.claim(for: intent, of: id)
    }
    guard let hasClaimed else { return .overtaken }
    guard hasClaimed else { throw .rolledBack }
    return try await vault.commitIfOpen { vault throws(AgentFailure) in
      try vault.journal.begin(intent, of: id)
    } ?? .overtaken
  }

  /// Marks a durable intent as leaving. Overtaken if the account has gone on, or the vault was locked.
  func mark(_ leaving: ExchangeIntent) async throws(AgentFailure) -> ExchangeMachine.Marking {
    try await vault.commitIfOpen { vault throws(AgentFailure) in vault.journal.mark(leaving, of: id) } ?? .overtaken
  }

  /// Stores what the loading of the account found out about the journal's request.
  func correct(
    _ found: ExchangeIntent, end: ExchangeMachine.JournalEnd, generation: UInt64, _ failed: FailedExchange
  ) async throws(AgentFailure) -> AccountProfile? {
    try await vault.commitIfOpen { vault throws(AgentFailure) in
      try vault.journal.correct(found, of: id, generation: generation, failed, end: end)
    } ?? nil
  }

  /// The answer goes to the inbox if the vault was locked.
  func stage(_ body: Secret, for intent: ExchangeIntent, of origin: TokenOrigin) async throws(AgentFailure) -> Kept {
    let answer = StagedAnswer(intent: intent, body: body)
    return try await vault.commit(orLeave: PendingRecord.answer(answer, of: origin)) { vault throws(AgentFailure) in
      vault.journal.stage(body, for: intent, of: id)
    } ?? .dropped
  }

  /// Nil if the account has gone on. Throws `.locked` if the vault was locked: the staged answer waits there.
  func finish(
    _ intent: ExchangeIntent, grant: GrantRecord, bindingChanged: Bool, answer: TokenResponse, tokens: AccessTokens
  ) async throws(AgentFailure) -> FinishedExchange? {
    try await vault.commit { vault throws(AgentFailure) in
      try vault.journal.finish(
        intent, of: id, grant: grant, bindingChanged: bindingChanged, answer: answer, tokens: tokens)
    }
  }

  /// Nothing is settled if the vault was locked, or if the account has gone on: nil.
  func settle(
    epoch: UInt64, _ failed: FailedExchange, end: ExchangeMachine.JournalEnd
  ) async throws(AgentFailure) -> AccountProfile? {
    try await vault.commitIfOpen { vault throws(AgentFailure) in
      try vault.journal.settle(epoch: epoch, of: id, failed, journal: end)
    } ?? nil
  }

  /// Stores what time alone made of the grant's state. Nil if the account changed meanwhile, or the vault is locked.
  func note(_ failed: FailedExchange, epoch: UInt64) async throws(AgentFailure) -> AccountProfile? {
    try await vault.commitIfOpen { vault throws(AgentFailure) in vault.journal.note(failed, of: id, epoch: epoch) }
      ?? nil
  }

  /// The refresh token of an account that keeps none in memory.
  func refreshToken() async throws(AgentFailure) -> Secret? {
    try await vault.read { vault throws(AgentFailure) in
      try vault.journal.load(try vault.directory.profile(.id(id)))?.grant.refreshToken
    }
  }

  /// Notes in the inbox, if the vault was locked, that the request spent no refresh token.
  func noteUnspent(_ intent: ExchangeIntent) async throws(AgentFailure) {
    try await vault.leaveIfLocked(PendingRecord.unspent(intent, of: id))
  }
}
