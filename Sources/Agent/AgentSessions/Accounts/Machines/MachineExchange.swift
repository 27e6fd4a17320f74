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
  let epoch: UInt64

  static func run(_ attempt: TokenMachine.Attempt, of account: isolated Account) async {
    guard let loaded = account.loaded else { return }
    let exchange = MachineExchange(attempt: attempt, epoch: loaded.profile.epoch)
    let gate = account.dependencies.gate
    let ticket = gate.ticket()
    let began = account.clock.boot()
    // One that stands in line when the agent ends was refused its waiters.
    guard
      await gate.enter(ticket, issuer: loaded.profile.identity.issuer, isWanted: loaded.machine.isWanted)
    else { return }
    account.dependencies.environment.figures.exchangeWaited(since: began)
    let answer = await exchange.ask(account)
    gate.leave(ticket)
    await exchange.end(answer, of: account)
  }

  /// The account may have gone on with another sign-in, or the vault may be locked.
  func isCurrent(_ account: isolated Account) -> Bool {
    guard let loaded = account.loaded else { return false }
    return loaded.profile.epoch == epoch && loaded.machine.exchange == attempt
  }

  private func ask(_ account: isolated Account) async -> ProviderClient.MachineAnswer {
    guard isCurrent(account) else { return .failed(.store) }
    let provider: Provider
    do throws(AgentFailure) {
      provider = try await account.dependencies.vault.receiver(ofTokensOf: account.id)
    } catch {
      // Its documents may have named another endpoint since, of which the account was not told.
      if case .token(.interaction, _) = error { await account.configurationChanged() }
      account.noteStoreError(error)
      return .failed(.store)
    }
    guard isCurrent(account), let grant = provider.configuration.machine else { return .failed(.store) }
    let began = account.clock.boot()
    let answer = await account.dependencies.client(of: provider).machineToken(
      grant, for: attempt.key, boundTo: account.loaded?.grant.deviceKey)
    account.dependencies.environment.figures.exchangeTook(since: began)
    account.noteSilence(after: answer.failure, of: provider)
    return answer
  }

  private func end(_ answer: ProviderClient.MachineAnswer, of account: isolated Account) async {
    switch answer {
    case .token(let response, let sentAt): await succeeded(response, sentAt: sentAt, account)
    case .failed(let failure): await failed(failure, account)
    }
  }

  /// Stores what the answer says of the account before the callers are answered.
  private func succeeded(_ response: TokenResponse, sentAt: BootInstant, _ account: isolated Account) async {
    guard isCurrent(account), let loaded = account.loaded else { return }
    let response = response.usable(with: loaded.grant.deviceKey)
    guard response.accessToken != nil else {
      return await failed(.misconfigured(TokenMachine.noUsableToken), account)
    }
    let answered = ExchangeIntent(
      attempt: attempt.number, epoch: epoch, generation: loaded.grant.generation, fingerprint: "",
      wall: account.clock.wall(), bootID: account.clock.bootID, boot: sentAt, key: attempt.key, isReplay: false,
      nonce: [])
    let renewed = RenewedGrant(
      renewing: loaded, by: response, .none, sent: nil, for: answered, clock: account.clock,
      now: account.dependencies.time.now(for: loaded.profile.provider))
    if renewed.isUnbound { return await failed(.misconfigured(TokenMachine.notBound), account) }
    do throws(AgentFailure) {
      let stored = try await account.journal.finish(
        answered, grant: renewed.grant, bindingChanged: renewed.bindingChanged, answer: response,
        tokens: account.tokens.storable(with: renewed.accessToken, of: account))
      guard let stored, isCurrent(account) else { return }
      adopt(renewed, stored, account)
    } catch {
      if error.isLocked { return account.release(.locked) }
      account.noteStoreError(error)
      await failed(.store, account)
    }
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

  private func failed(_ failure: ExchangeFailure, _ account: isolated Account) async {
    guard let effects = await settle(failure, account) else { return }
    account.count(ExchangeOutcome(failure), at: account.clock.boot())
    account.perform(effects)
    account.renewal.watch(account)
  }
}

extension ProviderClient.MachineAnswer {
  /// Nil if there is a token.
  fileprivate var failure: ExchangeFailure? { if case .failed(let failure) = self { failure } else { nil } }
}
