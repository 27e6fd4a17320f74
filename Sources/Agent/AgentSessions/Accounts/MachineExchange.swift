internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import Secrets

/// One attempt of an account of a machine: asks for a token with the grant itself (docs/machines.md, Exchanges). It spends
/// nothing, so that it needs no journal. A part of `Account`, to which its functions are isolated.
struct MachineExchange: UnjournaledExchange {
  let attempt: TokenMachine.Attempt
  /// As it was when the attempt began.
  let profile: AccountProfile
  var epoch: UInt64 { profile.epoch }

  /// An answer, with whom it was asked of.
  private struct Reply {
    var answer: ProviderClient.MachineAnswer
    /// Nil if nothing was asked.
    var provider: Provider? = nil
  }

  static func run(_ attempt: TokenMachine.Attempt, of account: isolated Account) async {
    guard let loaded = account.loaded else { return }
    let exchange = MachineExchange(attempt: attempt, profile: loaded.profile)
    let gate = account.dependencies.gate
    let ticket = gate.ticket()
    let began = account.clock.boot()
    guard await account.comesToItsTurn(ticket) else { return }
    account.dependencies.environment.figures.exchangeWaited(since: began)
    let reply = await exchange.ask(account)
    gate.leave(ticket)
    await exchange.end(reply, of: account)
  }

  /// The account may have gone on with another sign-in, or the vault may be locked.
  func isCurrent(_ account: isolated Account) -> Bool {
    guard let loaded = account.loaded else { return false }
    return loaded.profile.epoch == epoch && loaded.machine.exchange == attempt
  }

  private func ask(_ account: isolated Account) async -> Reply {
    guard isCurrent(account), let provider = await account.exchangeReceiver(), isCurrent(account),
      let grant = provider.configuration.machine
    else { return Reply(answer: .failed(.store)) }
    let began = account.clock.boot()
    let answer = await account.dependencies.client(of: provider).machineToken(
      grant, for: attempt.key, boundTo: account.loaded?.grant.deviceKey)
    account.dependencies.environment.figures.exchangeTook(since: began)
    account.noteSilence(after: answer.failure, of: provider)
    return Reply(answer: answer, provider: provider)
  }

  private func end(_ reply: Reply, of account: isolated Account) async {
    switch reply.answer {
    case .token(let response, let sentAt):
      guard await succeeded(response, sentAt: sentAt, account) else { return await revoke(response, reply, account) }
    case .failed(let failure): await failed(failure, of: reply.provider, account)
    }
  }

  /// The account signed out while the token was on its way: it would live on unseen.
  private func revoke(_ response: TokenResponse, _ reply: Reply, _ account: isolated Account) async {
    guard let token = response.accessToken else { return }
    let now = account.dependencies.time.now(for: profile.provider)
    let late = OvertakenToken(accessToken: token, expiresAt: response.expiresIn.map { now + $0 })
    await account.lateTokens.revoke(late, of: TokenOrigin(profile, reply.provider))
  }

  /// Stores what the answer says of the account before the callers are answered.
  ///
  /// - Returns: false if the account has gone on without the answer.
  private func succeeded(_ response: TokenResponse, sentAt: BootInstant, _ account: isolated Account) async -> Bool {
    guard isCurrent(account), let loaded = account.loaded else { return false }
    let response = response.usable(with: loaded.grant.deviceKey)
    guard response.accessToken != nil else {
      await failed(.misconfigured(TokenMachine.noUsableToken), account)
      return true
    }
    let answered = ExchangeIntent(
      attempt: attempt.number, epoch: epoch, generation: loaded.grant.generation, fingerprint: "",
      wall: account.clock.wall(), bootID: account.clock.bootID, boot: sentAt, key: attempt.key, isReplay: false,
      nonce: [])
    let renewed = RenewedGrant(
      renewing: loaded, by: response, .none, sent: nil, for: answered, clock: account.clock,
      time: account.dependencies.time)
    if renewed.isUnbound {
      await failed(.misconfigured(TokenMachine.notBound), account)
      return true
    }
    do throws(AgentFailure) {
      let stored = try await account.journal.finish(
        answered, grant: renewed.grant, bindingChanged: renewed.bindingChanged, answer: response,
        tokens: account.tokens.storable(with: renewed.accessToken, of: account))
      guard let stored, isCurrent(account) else { return false }
      adopt(renewed, stored, account)
    } catch {
      if error.isLocked {
        account.release(.locked)
        return false
      }
      account.noteStoreError(error)
      await failed(.store, account)
    }
    return true
  }

  private func adopt(_ renewed: RenewedGrant, _ stored: FinishedExchange, _ account: isolated Account) {
    account.loaded?.grant = renewed.grant
    account.loaded?.profile = stored.profile
    account.loaded?.lastFailure = nil
    account.loaded?.storeError = nil
    account.rareParts.confirmer?.exchangeEnded()
    let token = renewed.accessToken.flatMap {
      account.tokens.take($0, boundTo: renewed.grant.deviceKey, from: stored.profile.provider, of: account)
    }
    if let lost = renewed.lostScopes {
      account.dependencies.events.publish(
        .tokenScopesNarrowed(scopes: renewed.grant.scopes, lost: lost), account: account.id)
    }
    account.adopt(stored.rights)
    let now = account.clock.boot()
    let effects: [TokenMachine.Effect]?
    if let token {
      effects = account.loaded?.machine.exchangeSucceeded(attempt: attempt.number, token: token.facts, at: now)
      account.count(.renewed, at: now)
      // Published before the callers are told, so that a later `token.get` returns no older token.
      account.tokens.publish(of: account)
      account.tellRefreshed(token)
    } else {
      effects = account.loaded?.machine.exchangeBroughtNoToken(attempt: attempt.number, at: now)
      account.count(.noToken, at: now)
      account.tokens.publish(of: account)
    }
    account.perform(effects ?? [])
    account.renewal.watch(account)
  }

  private func failed(_ failure: ExchangeFailure, of provider: Provider? = nil, _ account: isolated Account) async {
    guard let effects = await settle(failure, account) else { return }
    if case .tokenFile(let path)? = provider?.configuration.machine { account.loaded?.lastFailure?.file = path }
    account.count(ExchangeOutcome(failure), at: account.clock.boot())
    account.perform(effects)
    account.renewal.watch(account)
  }
}

extension ProviderClient.MachineAnswer {
  /// Nil if there is a token.
  fileprivate var failure: ExchangeFailure? { if case .failed(let failure) = self { failure } else { nil } }
}
