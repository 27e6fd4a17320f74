package import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import Secrets

/// Performs what `ExchangeMachine` decides: the steps of a run, one at a time (docs/tokens.md, Journal).
/// `Account+ExchangeRequest.swift` performs the steps up to the request, `Account+ExchangeAnswer.swift` those after it,
/// `Account+ExchangeEffects.swift` the effects that need no wait.
///
/// The machine refers to an answer by its request. The bytes of the answer stay in `answers`, in guarded memory, until
/// they are no longer needed.
extension Account {
  /// The data that a run carries between its steps.
  struct RunData {
    var refreshToken: Secret?
    var response: TokenResponse?
    var renewed: RenewedGrant?
    /// The token that the run brought.
    var token: IssuedToken?
    /// The effects of `TokenMachine` to perform once the new token is published.
    var effects: [TokenMachine.Effect] = []
    /// The jitter of the pause after a failure: the same for the journal and for memory.
    var jitter: Double?
  }

  /// The token machine began an attempt.
  package func exchange(_ attempt: TokenMachine.Attempt) async {
    let run = dependencies.gate.ticket()
    perform(exchanges.begin(attempt, as: run))
    await carryOut(run)
  }

  /// The vault was locked: drops the memory; an answer that could not be stored goes to the inbox.
  func vaultWasLocked() async {
    release(.locked)
    let run = dependencies.gate.ticket()
    exchanges.vaultLocked(dropAs: run)
    await carryOut(run)
  }

  /// Hands the answer that could not be stored to a sign-out, since it holds the only live refresh token. Returns its
  /// entry for the outbox; nil without such an answer, or if an exchange is about to handle it.
  func surrender() async -> OutboxEntry? {
    guard let held = exchanges.surrender(), let answer = answers[held.nonce] else { return nil }
    wipeAnswers()
    guard let token = answer.refreshToken else { return nil }
    do {
      return try await lateTokens.quarantine(token, of: answer.origin)
    } catch {
      answers[held.nonce] = answer
      exchanges.takeBack(held)
      wipeAnswers()
      return nil
    }
  }

  /// A sign-in replaces the grant of an answer that could not be kept: its refresh token is revoked.
  func revokeHeldAnswer() {
    guard let held = exchanges.surrender(), let answer = answers[held.nonce], let token = answer.refreshToken else {
      return
    }
    dependencies.background.start { await self.lateTokens.revoke(token, of: answer.origin) }
  }

  // MARK: steps

  private func carryOut(_ run: ExchangeMachine.RunID) async {
    var data = RunData()
    while let step = exchanges.step(of: run) {
      let effects = await carryOut(step, of: run, &data)
      perform(effects, &data)
    }
  }

  private func carryOut(
    _ step: ExchangeMachine.Step, of run: ExchangeMachine.RunID, _ data: inout RunData
  ) async -> [ExchangeMachine.Effect] {
    switch step {
    case .revokeHeld(let answer):
      await revoke(answer)
      return exchanges.heldWasRevoked(run)
    case .queue:
      guard await mayBeAnswered() else { return exchanges.providerIsSilent(run) }
      let isAdmitted = await enterQueue(run)
      return exchanges.queued(run, isAdmitted: isAdmitted)
    case .prepare(let attempt): return exchanges.prepared(run, prepare(attempt, &data))
    // One call goes through these: it makes the connection, asks `mayLeave`, and sends.
    case .connect(let intent), .begin(let intent), .mark(let intent), .send(let intent), .withhold(let intent, _):
      let reply = await send(intent, of: run, data)
      return exchanges.sent(run, reply)
    case .stage(let answer):
      let staging = await stage(answer)
      return exchanges.staged(run, staging)
    case .judge(let answer): return exchanges.judged(run, judge(answer, &data))
    case .disown(let answer, _):
      await disown(answer)
      return exchanges.disowned(run)
    case .commit(let answer):
      let commitment = await commit(answer, &data)
      return exchanges.committed(run, commitment)
    case .adopt(_, let takesToken): return exchanges.adopted(run, hasToken: adopt(&data, takesToken: takesToken))
    case .settle(let intent, let failure, let attempt, let end):
      await settle(intent, failure, attempt, end, &data)
      return exchanges.settled(run)
    case .noteUnspent(let intent):
      try? await journal.noteUnspent(intent)
      return exchanges.unspentWasNoted(run)
    case .drop(let answer):
      let staging = await stage(answer)
      return exchanges.dropped(run, staging)
    case .revokeOvertaken(let answer):
      await revoke(answer)
      return exchanges.overtakenWasRevoked(run)
    case .end: return exchanges.ended(run)
    }
  }

  // MARK: revocation

  private var lateTokens: LateTokens { LateTokens(vault: dependencies.vault, send: dependencies.revoke) }

  /// Revokes the tokens of an answer for another identity, and the refresh token that was sent for it.
  private func disown(_ answer: ExchangeIntent) async {
    let spent = loaded?.grant.refreshToken
    let origin = answers[answer.nonce]?.origin
    await revoke(answer)
    if let spent, let origin { await lateTokens.revoke(spent, of: origin) }
  }

  private func revoke(_ answer: ExchangeIntent) async {
    guard let received = answers[answer.nonce], let token = received.refreshToken else { return }
    await lateTokens.revoke(token, of: received.origin)
  }
}
