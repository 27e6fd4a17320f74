package import AgentCore
package import AgentModel
package import AgentOAuth
package import Secrets

/// The calls of `Account` to the vault.
extension VaultActor {
  package func open(
    _ id: AccountID
  ) throws(AgentFailure) -> (AccountProfile, LoadedGrant?, ProviderConfiguration.RefreshRule) {
    try read { vault throws(AgentFailure) in try vault.journal.open(id) }
  }

  package func begin(_ intent: ExchangeIntent, of id: AccountID) throws(AgentFailure) -> Bool {
    try commitIfOpen { vault throws(AgentFailure) in try vault.journal.begin(intent, of: id) } ?? false
  }

  func stage(_ body: Secret, for intent: ExchangeIntent, of id: AccountID) throws(AgentFailure) -> Kept {
    try commit(orLeave: .answer(StagedAnswer(intent: intent, body: body), of: id)) { vault throws(AgentFailure) in
      vault.journal.stage(body, for: intent, of: id)
    } ?? .dropped
  }

  package func finish(
    _ intent: ExchangeIntent, of id: AccountID, grant: GrantRecord, answer: TokenResponse, tokens: AccessTokens
  ) throws(AgentFailure) -> (AccountProfile, RightsChange?)? {
    try commit { vault throws(AgentFailure) in
      try vault.journal.finish(intent, of: id, grant: grant, answer: answer, tokens: tokens)
    }
  }

  func settle(epoch: UInt64, of id: AccountID, grant: GrantRecord, journal: ExchangeMachine.JournalEnd)
    throws(AgentFailure)
  {
    try commitIfOpen { vault throws(AgentFailure) in
      vault.journal.settle(epoch: epoch, of: id, grant: grant, journal: journal)
    }
  }

  func dropUnspent(_ intent: ExchangeIntent, of id: AccountID) throws(AgentFailure) {
    try leaveIfLocked(.unspent(intent, of: id))
  }

  func quarantine(_ token: Secret, of id: AccountID) throws(AgentFailure) -> OutboxEntry? {
    try commit(orLeave: .overtaken(token, of: id)) { vault throws(AgentFailure) in
      vault.outbox.quarantine(token, of: id)
    } ?? nil
  }

  package func signOut(
    _ id: AccountID, _ mode: SignOutMode, accessTokens: [(token: Secret, lives: Milliseconds)] = []
  ) throws(AgentFailure) -> SignedOut {
    try commit { vault throws(AgentFailure) in
      try vault.signOuts.signOut(id, mode, accessTokens: accessTokens)
    }
  }

  func save(_ entry: OutboxEntry) throws(AgentFailure) {
    try commit { vault throws(AgentFailure) in vault.outbox.save(entry) }
  }
}
