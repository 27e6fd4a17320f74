internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import Secrets

/// Performs what `ExchangeMachine` decides for one account: the steps of a run, one at a time (docs/tokens.md, Journal).
/// `ExchangeRunner+Request.swift` performs the steps up to the request, `ExchangeRunner+Answer.swift` those after it,
/// `ExchangeRunner+Effects.swift` the effects that need no wait. A part of `Account`, to which all its functions are
/// isolated.
///
/// The machine refers to an answer by its request. The bytes of the answer stay in `answers`, in guarded memory, until
/// they are no longer needed.
final class ExchangeRunner {
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

  /// Decides the steps of runs.
  var machine = ExchangeMachine()
  /// The raw answers that `machine` refers to, by the nonce of their request. Each may hold the only live refresh token.
  var answers: [[UInt8]: ReceivedAnswer] = [:]

  /// The token machine began an attempt.
  static func run(_ attempt: TokenMachine.Attempt, of account: isolated Account) async {
    await account.exchanges.run(attempt, of: account)
  }

  private func run(_ attempt: TokenMachine.Attempt, of account: isolated Account) async {
    let run = account.dependencies.gate.ticket()
    perform(machine.begin(attempt, as: run), of: account)
    await carryOut(run, of: account)
  }

  /// The vault was locked: an answer that could not be stored goes to the inbox.
  func dropHeldAnswer(of account: isolated Account) async {
    let run = account.dependencies.gate.ticket()
    machine.vaultLocked(dropAs: run)
    await carryOut(run, of: account)
  }

  /// Takes the answer that could not be stored; nil without one, or if an exchange is about to handle it.
  func surrender(of account: isolated Account) async -> OutboxEntry? {
    guard let held = machine.surrender(), let answer = answers[held.nonce] else { return nil }
    wipeAnswers()
    guard let token = answer.refreshToken else { return nil }
    do {
      return try await account.lateTokens.quarantine(token, of: answer.origin)
    } catch {
      answers[held.nonce] = answer
      machine.takeBack(held)
      wipeAnswers()
      return nil
    }
  }

  /// A sign-in replaces the grant of an answer that could not be kept: its refresh token is revoked.
  func revokeHeldAnswer(of account: isolated Account) {
    guard let held = machine.surrender(), let answer = answers[held.nonce], let token = answer.refreshToken else {
      return
    }
    let lateTokens = account.lateTokens
    account.dependencies.background.start { await lateTokens.revoke(token, of: answer.origin) }
  }

  // MARK: steps

  private func carryOut(_ run: ExchangeMachine.RunID, of account: isolated Account) async {
    var data = RunData()
    while let step = machine.step(of: run) {
      let effects = await carryOut(step, in: run, of: account, &data)
      perform(effects, of: account, &data)
    }
  }

  private func carryOut(
    _ step: ExchangeMachine.Step, in run: ExchangeMachine.RunID, of account: isolated Account, _ data: inout RunData
  ) async -> [ExchangeMachine.Effect] {
    switch step {
    case .revokeHeld(let answer):
      await revoke(answer, of: account)
      return machine.heldWasRevoked(run)
    case .queue:
      guard await mayBeAnswered(account) else { return machine.providerIsSilent(run) }
      let isAdmitted = await enterQueue(run, of: account)
      return machine.queued(run, isAdmitted: isAdmitted)
    case .prepare(let attempt): return machine.prepared(run, prepare(attempt, of: account, &data))
    // One call goes through these: it makes the connection, asks `mayLeave`, and sends.
    case .connect(let intent), .begin(let intent), .mark(let intent), .send(let intent), .withhold(let intent, _):
      let reply = await send(intent, in: run, of: account, data)
      return machine.sent(run, reply)
    case .stage(let answer):
      let staging = await stage(answer, of: account)
      return machine.staged(run, staging)
    case .judge(let answer): return machine.judged(run, judge(answer, of: account, &data))
    case .disown(let answer, _):
      await disown(answer, of: account)
      return machine.disowned(run)
    case .commit(let answer):
      let commitment = await commit(answer, of: account, &data)
      return machine.committed(run, commitment)
    case .adopt(_, let takesToken):
      return machine.adopted(run, hasToken: adopt(&data, of: account, takesToken: takesToken))
    case .settle(let intent, let failure, let attempt, let end):
      await settle(intent, failure, attempt, end, of: account, &data)
      return machine.settled(run)
    case .noteUnspent(let intent):
      try? await account.journal.noteUnspent(intent)
      return machine.unspentWasNoted(run)
    case .drop(let answer):
      let staging = await stage(answer, of: account)
      return machine.dropped(run, staging)
    case .revokeOvertaken(let answer):
      await revoke(answer, of: account)
      return machine.overtakenWasRevoked(run)
    case .end: return machine.ended(run)
    }
  }

  // MARK: revocation

  /// Revokes the tokens of an answer for another identity, and the refresh token that was sent for it.
  private func disown(_ answer: ExchangeIntent, of account: isolated Account) async {
    let spent = account.loaded?.grant.refreshToken
    let origin = answers[answer.nonce]?.origin
    await revoke(answer, of: account)
    if let spent, let origin { await account.lateTokens.revoke(spent, of: origin) }
  }

  private func revoke(_ answer: ExchangeIntent, of account: isolated Account) async {
    guard let received = answers[answer.nonce], let token = received.refreshToken else { return }
    await account.lateTokens.revoke(token, of: received.origin)
  }
}

extension Account {
  var lateTokens: LateTokens { LateTokens(vault: dependencies.vault, send: dependencies.revoke) }
}
