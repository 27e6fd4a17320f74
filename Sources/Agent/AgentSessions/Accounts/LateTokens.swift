internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import Secrets

/// Revokes tokens that no account keeps: those of an answer that came too late, or that is for another identity.
struct LateTokens {
  let vault: VaultActor
  /// Sends an entry of the outbox in the background, or when its time has come.
  let send: @Sendable (OutboxEntry) -> Void
  /// The account was signed out offline: no network is touched for what comes too late, either.
  let staysOffline: Bool

  func revoke(_ token: OvertakenToken, of origin: TokenOrigin) async {
    if let entry = try? await quarantine(token, of: origin) { send(entry) }
  }

  /// Puts the token into the outbox, or into the inbox while the vault is locked. Returns its entry; nil if there is
  /// none.
  func quarantine(_ token: OvertakenToken, of origin: TokenOrigin) async throws(AgentFailure) -> OutboxEntry? {
    try await vault.commit(orLeave: PendingRecord.overtaken(token, of: origin)) { vault throws(AgentFailure) in
      vault.outbox.quarantine(token, of: origin, staysOffline: staysOffline)
    } ?? nil
  }
}
