internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import Secrets

/// One attempt of an account that holds a secret: asks the provider by `whoami` whether it stands by it
/// (docs/secrets.md, Confirmation). It rotates nothing, so that it needs no journal. A part of `Account`, to which its
/// functions are isolated.
struct SecretConfirmation: UnjournaledExchange {
  let attempt: TokenMachine.Attempt
  let epoch: UInt64
  private let generation: UInt64

  static func run(_ attempt: TokenMachine.Attempt, of account: isolated Account) async {
    guard let loaded = account.loaded else { return }
    let confirmation = SecretConfirmation(
      attempt: attempt, epoch: loaded.profile.epoch, generation: loaded.grant.generation)
    let gate = account.dependencies.gate
    let ticket = gate.ticket()
    guard await account.comesToItsTurn(ticket) else { return }
    let answer = await confirmation.ask(account)
    gate.leave(ticket)
    await confirmation.end(answer, of: account)
  }

  /// The account may have gone on: with another sign-in, or another secret.
  func isCurrent(_ account: isolated Account) -> Bool {
    guard let loaded = account.loaded else { return false }
    return loaded.profile.epoch == epoch && loaded.grant.generation == generation && loaded.machine.exchange == attempt
  }

  private func ask(_ account: isolated Account) async -> ProviderClient.SecretAnswer {
    guard isCurrent(account), let loaded = account.loaded, let secret = loaded.grant.refreshToken else {
      return .failed(.store)
    }
    guard let provider = await account.exchangeReceiver() else { return .failed(.store) }
    return await account.dependencies.client(of: provider).whoami(secret, username: loaded.profile.secret?.username)
  }

  private func end(_ answer: ProviderClient.SecretAnswer, of account: isolated Account) async {
    if account.loaded?.machine.secretHasEnded(at: account.clock.boot()) == true { return ended(account) }
    switch answer {
    case .confirmed(let person) where isAccounts(person, account):
      await confirmed(person, account)
    case .confirmed: await failed(.reauthenticate(reason: TokenMachine.identityMismatch), account)
    // Some servers answer 200 in any case; this one named the person when the secret was added.
    case .refused, .unnamed:
      await failed(.reauthenticate(reason: TokenMachine.secretRefused), account)
    case .failed(let failure): await failed(failure, account)
    }
  }

  private func isAccounts(_ person: SecretOwner, _ account: isolated Account) -> Bool {
    guard let identity = account.loaded?.profile.identity else { return false }
    // The provider named no person when the secret was added.
    return identity.isOfSecret || equalCodePoints(identity.subject, person.subject)
  }

  /// Stores the confirmation before the callers are answered.
  private func confirmed(_ person: SecretOwner, _ account: isolated Account) async {
    do throws(AgentFailure) {
      let id = account.id
      let stored = try await account.dependencies.vault.commit { [epoch] vault throws(AgentFailure) in
        try vault.journal.confirm(person, epoch: epoch, of: id)
      }
      guard let stored, isCurrent(account) else { return }
      account.loaded?.profile = stored.profile
      account.loaded?.lastFailure = nil
      account.loaded?.storeError = nil
      account.rareParts.confirmer?.exchangeEnded()
      account.adopt(stored.rights)
      guard let taken = account.tokens.takeSecret(of: account) else { return ended(account) }
      let effects = account.loaded?.machine.exchangeSucceeded(
        attempt: attempt.number, token: taken.facts, at: account.clock.boot())
      account.tokens.publish(of: account)
      account.perform(effects ?? [])
    } catch {
      if error.isLocked { return account.release(.locked) }
      account.noteStoreError(error)
      await failed(.store, account)
    }
  }

  /// Its end came meanwhile, and no answer changes that.
  private func ended(_ account: isolated Account) {
    guard isCurrent(account) else { return }
    let effects = account.loaded?.machine.secretEnded(attempt: attempt.number)
    account.tokens.publish(of: account)
    account.perform(effects ?? [])
  }

  private func failed(_ failure: ExchangeFailure, _ account: isolated Account) async {
    guard let effects = await settle(failure, account) else { return }
    account.perform(effects)
  }
}
