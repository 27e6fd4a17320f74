internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentRecords
internal import Secrets

/// Performs what `ExchangeMachine` decides for one account: the steps of a run, one at a time (docs/tokens.md, Journal).
/// `ExchangeRunner+Request.swift` performs the steps up to the request, `ExchangeRunner+Answer.swift` those after its
/// answer is stored, `ExchangeRunner+Effects.swift` the effects that need no wait. A part of `Account`, to which all its
/// functions are isolated.
///
/// The machine refers to an answer by its request; the bytes are in `ReceivedAnswers`.
final class ExchangeRunner {
  /// The data that a run carries between its steps.
  struct RunData {
    var refreshToken: Secret?
    /// The refresh token could not be read.
    var isUnreadable = false
    /// The refresh token was another person's, and goes.
    var isDisowned = false
    /// The key that the grant is bound to.
    var deviceKey: DeviceKey?
    var response: TokenResponse?
    var renewed: RenewedGrant?
    /// The ID token of the answer.
    var idToken = RefreshedIDToken.none
    /// The token that the run brought.
    var token: IssuedToken?
    /// The effects of `TokenMachine` to perform once the new token is published.
    var effects: [TokenMachine.Effect] = []
    /// The jitter of the pause after a failure: the same for the journal and for memory.
    var jitter: Double?
  }

  /// Decides the steps of runs.
  var machine = ExchangeMachine()
  /// The raw answers that `machine` refers to.
  let answers = ReceivedAnswers()

  /// The token machine began an attempt. Static, since work in the background can't hold a part of the account.
  static func run(_ attempt: TokenMachine.Attempt, of account: isolated Account) async {
    let (run, exchanges) = (account.dependencies.gate.ticket(), account.exchanges)
    exchanges.perform(exchanges.machine.begin(attempt, as: run), of: account)
    await exchanges.carryOut(run, of: account)
  }

  /// The vault was locked: an answer that could not be stored goes to the inbox.
  func dropHeldAnswer(of account: isolated Account) async {
    let run = account.dependencies.gate.ticket()
    machine.vaultLocked(dropAs: run)
    await carryOut(run, of: account)
  }

  /// Takes the answer that could not be stored; nil without one, or if an exchange is about to handle it.
  func releaseHeldAnswer(of account: isolated Account) async -> OutboxEntry? {
    guard let held = machine.releaseHeldAnswer(), let answer = answers[held] else { return nil }
    answers.keep(only: machine.neededAnswers)
    guard let token = answer.refreshToken else { return nil }
    do {
      return try await account.lateTokens.quarantine(OvertakenToken(refreshToken: token), of: answer.origin)
    } catch {
      answers[held] = answer
      machine.takeBack(held)
      answers.keep(only: machine.neededAnswers)
      return nil
    }
  }

  /// A sign-in replaces the grant of an answer that could not be kept: its refresh token is revoked.
  func revokeHeldAnswer(of account: isolated Account) {
    guard let held = machine.releaseHeldAnswer(), let answer = answers[held], let token = answer.refreshToken else {
      return
    }
    let lateTokens = account.lateTokens
    let overtaken = OvertakenToken(refreshToken: token)
    account.dependencies.background.start { await lateTokens.revoke(overtaken, of: answer.origin) }
  }

  // MARK: steps

  private func carryOut(_ run: ExchangeMachine.RunID, of account: isolated Account) async {
    var data = RunData()
    while let step = machine.step(of: run) {
      let outcome = await carryOut(step, in: run, of: account, &data)
      perform(machine.completed(run, outcome), of: account, &data)
    }
  }

  private func carryOut(
    _ step: ExchangeMachine.Step, in run: ExchangeMachine.RunID, of account: isolated Account, _ data: inout RunData
  ) async -> ExchangeMachine.Outcome {
    switch step {
    case .revokeHeld(let answer):
      await answers.revoke(answer, of: account)
      return .heldWasRevoked
    case .queue:
      guard await mayBeAnswered(account) else { return .providerIsSilent }
      let isAdmitted = await enterQueue(run, of: account)
      if isAdmitted { await readKept(of: account, &data) }
      return .queued(isAdmitted: isAdmitted)
    case .prepare(let attempt): return .prepared(prepare(attempt, of: account, &data))
    // One call goes through these: it makes the connection, asks `mayLeave`, and sends.
    case .connect(let intent), .begin(let intent), .mark(let intent), .send(let intent), .withhold(let intent, _):
      return .sent(await send(intent, in: run, of: account, data))
    case .stage(let answer): return .staged(await answers.stage(answer, of: account))
    case .judge(let answer):
      let tenants = await issuersOfTenants(of: account)
      return .judged(judge(answer, of: account, &data, tenants))
    case .disown(let answer, _):
      await answers.disown(answer, sent: data.refreshToken, of: account)
      return .disowned
    case .commit(let answer): return .committed(await commit(answer, of: account, &data))
    case .adopt(let answer, let takesToken):
      return .adopted(hasToken: adopt(answer, &data, of: account, takesToken: takesToken))
    case .settle(let intent, let failure, let attempt, let end):
      await settle(intent, failure, attempt, end, of: account, &data)
      return .settled
    case .noteUnspent(let intent):
      try? await account.journal.noteUnspent(intent)
      return .unspentWasNoted
    case .drop(let answer): return .dropped(await answers.stage(answer, of: account))
    case .revokeOvertaken(let answer):
      await answers.revoke(answer, of: account)
      return .overtakenWasRevoked
    case .end: return .ended
    }
  }
}

extension Account {
  var lateTokens: LateTokens {
    LateTokens(vault: dependencies.vault, send: dependencies.later.revoke, staysOffline: wasSignedOutOffline)
  }
}
