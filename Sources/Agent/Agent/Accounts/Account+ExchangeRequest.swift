internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentVault
internal import Secrets

/// The steps of a run up to the request: waits for its turn, writes the intent, and sends.
extension Account {
  /// The one replay is not spent on a provider that answers nothing now (docs/tokens.md, Unknown outcome).
  func mayBeAnswered() async -> Bool {
    guard let loaded, loaded.machine.exchange?.isReplay == true else { return true }
    return await dependencies.gate.answers(loaded.profile.identity.issuer)
  }

  func enterQueue(_ run: ExchangeMachine.RunID) async -> Bool {
    guard let loaded else { return false }
    return await dependencies.gate.enter(
      run, issuer: loaded.profile.identity.issuer, isWanted: loaded.machine.isWanted)
  }

  func prepare(_ attempt: TokenMachine.Attempt, _ data: inout RunData) -> ExchangeMachine.Preparation {
    guard loaded?.machine.sending(attempt: attempt.number, at: clock.boot()) == true, let loaded else {
      return .graceElapsed
    }
    guard let refreshToken = loaded.grant.refreshToken else { return .noRefreshToken }
    data.refreshToken = refreshToken
    return .ready(
      ExchangeIntent(
        attempt: attempt.number, epoch: loaded.profile.epoch, generation: loaded.grant.generation,
        fingerprint: Fingerprint.of(refreshToken), wall: clock.wall(), bootID: clock.bootID, boot: clock.boot(),
        key: attempt.key, isReplay: attempt.isReplay,
        nonce: dependencies.environment.entropy.bytes(ExchangeIntent.nonceBytes)))
  }

  func send(_ intent: ExchangeIntent, of run: ExchangeMachine.RunID, _ data: RunData) async
    -> ExchangeMachine.Reply
  {
    guard let profile = loaded?.profile, let refreshToken = data.refreshToken else {
      return .failed(.store)
    }
    let provider: Provider
    do throws(AgentFailure) {
      provider = try await dependencies.vault.provider(named: profile.provider.text)
    } catch {
      noteStoreError(error)
      return .failed(.store)
    }
    let answer = await dependencies.client(of: provider).refresh(refreshToken, key: intent.key) {
      await self.mayLeave(run)
    }
    noteSilence(answer, of: provider)
    switch answer {
    case .failed(let failure): return .failed(loaded?.machine.judged(failure) ?? failure)
    case .answered(let body, let sentAt):
      answers[intent.nonce] = ReceivedAnswer(body: body, origin: TokenOrigin(profile, provider))
      return .answered(sentAt: sentAt)
    }
  }

  /// The connection stands, and no byte of the request has left: the intent is written now, so that a crash before puts
  /// nothing in doubt. False if the request must not leave.
  private func mayLeave(_ run: ExchangeMachine.RunID) async -> Bool {
    let now = clock.boot()
    guard let attempt = exchanges.connected(run, at: now, wall: clock.wall()),
      case .begin(let intent)? = exchanges.step(of: run)
    else { return false }
    guard let current = loaded?.machine.exchange, current.number == attempt.number else {
      return exchanges.began(run, .overtaken)
    }
    guard loaded?.machine.sending(attempt: attempt.number, at: now) == true else {
      return exchanges.began(run, .graceElapsed)
    }
    do throws(AgentFailure) {
      let isDurable = try await journal.begin(intent)
      guard exchanges.began(run, isDurable ? .durable : .overtaken), case .mark(let leaving)? = exchanges.step(of: run)
      else { return false }
      let marking = await mark(leaving)
      return exchanges.marked(run, marking)
    } catch {
      noteStoreError(error)
      return exchanges.began(run, .storeFailed)
    }
  }

  /// A kill during the commit of the intent would leave a request in doubt that never left. So a second commit, which
  /// costs no sync, says when it may leave.
  private func mark(_ leaving: ExchangeIntent) async -> ExchangeMachine.Marking {
    do throws(AgentFailure) {
      return try await journal.mark(leaving) ? .done : .overtaken
    } catch {
      noteStoreError(error)
      return .storeFailed
    }
  }

  private func noteSilence(_ answer: ProviderClient.TokenAnswer, of provider: Provider) {
    guard let issuer = loaded?.profile.identity.issuer else { return }
    switch answer {
    case .failed(let failure) where failure.isSilence:
      let client = dependencies.client(of: provider)
      dependencies.gate.fellSilent(issuer) { await client.answers() }
    case .failed(.offline), .failed(.untrustedServer), .failed(.unknownOutcome), .failed(.store): break
    case .failed, .answered: dependencies.gate.heard(issuer)
    }
  }
}
