internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import AgentVault
internal import Secrets

/// The steps of a run up to the request: waits for its turn, writes the intent, and sends.
extension ExchangeRunner {
  /// A replay is not spent on a provider that answers nothing now (docs/tokens.md, Unknown outcome). One that may wait is
  /// sent only after an answer to something else, since the last word of the provider was none.
  func mayBeAnswered(_ account: isolated Account) async -> Bool {
    guard let loaded = account.loaded, loaded.machine.exchange?.isReplay == true else { return true }
    let (gate, issuer) = (account.dependencies.gate, loaded.profile.identity.issuer)
    guard loaded.machine.grant.replayWaitsForAnAnswer(at: account.clock.boot()) else {
      return await gate.answers(issuer)
    }
    guard let provider = try? await account.dependencies.vault.receiver(ofTokensOf: account.id) else { return true }
    let client = account.dependencies.client(of: provider)
    return await gate.answers(issuer) { await client.documents.answers() }
  }

  func enterQueue(_ run: ExchangeMachine.RunID, of account: isolated Account) async -> Bool {
    guard let loaded = account.loaded else { return false }
    let began = account.clock.boot()
    let isAdmitted = await account.dependencies.gate.enter(
      run, issuer: loaded.profile.identity.issuer, isWanted: loaded.machine.isWanted)
    if isAdmitted { account.dependencies.environment.figures.exchangeWaited(since: began) }
    return isAdmitted
  }

  /// A disabled account has its refresh token on the disk alone: reads it for this run.
  func readKept(of account: isolated Account, _ data: inout RunData) async {
    guard let loaded = account.loaded, loaded.machine.health == .locked, loaded.grant.refreshToken == nil else {
      return
    }
    do throws(AgentFailure) {
      data.refreshToken = try await account.journal.refreshToken()
    } catch {
      account.noteStoreError(error)
      data.isUnreadable = true
    }
  }

  func prepare(
    _ attempt: TokenMachine.Attempt, of account: isolated Account, _ data: inout RunData
  ) -> ExchangeMachine.Preparation {
    if data.isUnreadable { return .storeFailed }
    guard account.loaded?.machine.sending(attempt: attempt.number, at: account.clock.boot()) == true,
      let loaded = account.loaded
    else {
      return .graceElapsed
    }
    guard let refreshToken = loaded.grant.refreshToken ?? data.refreshToken else { return .noRefreshToken }
    (data.refreshToken, data.deviceKey) = (refreshToken, loaded.grant.deviceKey)
    return .ready(
      ExchangeIntent(
        attempt: attempt.number, epoch: loaded.profile.epoch, generation: loaded.grant.generation,
        fingerprint: Fingerprint.of(refreshToken), wall: account.clock.wall(), bootID: account.clock.bootID,
        boot: account.clock.boot(),
        key: attempt.key, isReplay: attempt.isReplay, lostReplays: loaded.machine.lostReplays,
        nonce: account.dependencies.environment.entropy.bytes(ExchangeIntent.nonceBytes)))
  }

  func send(
    _ intent: ExchangeIntent, in run: ExchangeMachine.RunID, of account: isolated Account, _ data: RunData
  ) async -> ExchangeMachine.Reply {
    guard let profile = account.loaded?.profile, let refreshToken = data.refreshToken else {
      return .failed(.store)
    }
    guard let provider = await account.exchangeReceiver() else { return .failed(.store) }
    let client = account.dependencies.client(of: provider)
    let began = account.clock.boot()
    let answer = await client.refresh(refreshToken, key: intent.key, boundTo: data.deviceKey) {
      await Self.mayLeave(run, of: account)
    }
    account.dependencies.environment.figures.exchangeTook(since: began)
    account.noteSilence(after: answer.failure, of: provider)
    switch answer {
    case .failed(let failure): return .failed(account.loaded?.machine.grant.judged(failure) ?? failure)
    case .answered(let body, let sentAt):
      answers[intent] = ReceivedAnswer(body: body, origin: TokenOrigin(profile, provider))
      return .answered(sentAt: sentAt)
    }
  }

  /// Static, since the request's closure can't hold a part of the account.
  private static func mayLeave(_ run: ExchangeMachine.RunID, of account: isolated Account) async -> Bool {
    await account.exchanges.mayLeave(run, of: account)
  }

  /// The connection stands, and no byte of the request has left: the intent is written now, so that a crash before puts
  /// nothing in doubt. False if the request must not leave.
  private func mayLeave(_ run: ExchangeMachine.RunID, of account: isolated Account) async -> Bool {
    // The provider refused the proof of the request and did not process it: the same intent stands for the next one.
    if case .send = machine.step(of: run) { return machine.mayLeaveAgain(run) }
    let now = account.clock.boot()
    guard let attempt = machine.connected(run, at: now, wall: account.clock.wall()),
      case .begin(let intent)? = machine.step(of: run)
    else { return false }
    guard let current = account.loaded?.machine.exchange, current.number == attempt.number else {
      return machine.began(run, .overtaken)
    }
    guard account.loaded?.machine.sending(attempt: attempt.number, at: now) == true else {
      return machine.began(run, .graceElapsed)
    }
    do throws(AgentFailure) {
      let beginning = try await account.journal.begin(intent)
      guard machine.began(run, beginning), case .mark(let leaving)? = machine.step(of: run) else { return false }
      let marking = await mark(leaving, of: account)
      return machine.marked(run, marking)
    } catch {
      account.noteStoreError(error)
      return machine.began(run, .storeFailed)
    }
  }

  /// A kill during the commit of the intent would leave a request in doubt that never left. So a second commit, which
  /// costs no sync, says when it may leave.
  private func mark(_ leaving: ExchangeIntent, of account: isolated Account) async -> ExchangeMachine.Marking {
    do throws(AgentFailure) {
      return try await account.journal.mark(leaving)
    } catch {
      account.noteStoreError(error)
      return .storeFailed
    }
  }
}

extension ProviderClient.TokenAnswer {
  /// Nil if there is an answer with tokens.
  fileprivate var failure: ExchangeFailure? { if case .failed(let failure) = self { failure } else { nil } }
}

extension Account {
  /// Tells the gate whether the provider answers. `failure`: of an exchange; nil: it brought tokens.
  func noteSilence(after failure: ExchangeFailure?, of provider: Provider) {
    guard let issuer = loaded?.profile.identity.issuer else { return }
    if failure?.isSilence == true {
      let client = dependencies.client(of: provider)
      dependencies.gate.fellSilent(issuer) { await client.documents.answers() }
    } else if failure?.isOfTheProvider ?? true {
      dependencies.gate.answered(issuer)
    }
  }
}
