internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentStore

/// An attempt that rotates nothing, so that no journal keeps it: of a machine or of a secret.
protocol UnjournaledExchange {
  var attempt: TokenMachine.Attempt { get }
  /// That of the account when the attempt began.
  var epoch: UInt64 { get }
  /// False once the account has gone on without this attempt, or the vault is locked.
  func isCurrent(_ account: isolated Account) -> Bool
}

extension Account {
  /// Waits for the turn of an exchange without a journal. False if the agent ends first, which its callers are told.
  func comesToItsTurn(_ ticket: ExchangeGate.Ticket) async -> Bool {
    guard let loaded else { return false }
    let isAdmitted = await dependencies.gate.enter(
      ticket, issuer: loaded.profile.identity.issuer, isWanted: loaded.machine.isWanted)
    if !isAdmitted { refuseWaiters(.shuttingDown) }
    return isAdmitted
  }
}

extension UnjournaledExchange {
  /// Stores what a refusal means before the callers are told.
  ///
  /// - Returns: what follows for the callers; nil if the account has gone on.
  func settle(_ failure: ExchangeFailure, _ account: isolated Account) async -> [TokenMachine.Effect]? {
    guard isCurrent(account), let loaded = account.loaded else { return nil }
    let jitter = account.dependencies.environment.entropy.fraction()
    var machine = loaded.machine
    _ = machine.exchangeFailed(attempt: attempt.number, failure, at: account.clock.boot(), jitter: jitter)
    if machine.health != loaded.machine.health {
      // If this fails the provider is asked once more after a restart.
      let stored = try? await account.journal.settle(
        epoch: epoch, FailedExchange(machine, on: account.clock), end: .done)
      account.isStored(stored ?? nil)
      guard isCurrent(account) else { return nil }
    }
    account.note(failure)
    if failure.mayComeFromTheNetwork { account.dependencies.environment.signals.networkIsMissed() }
    account.rareParts.confirmer?.exchangeEnded()
    return account.loaded?.machine.exchangeFailed(
      attempt: attempt.number, failure, at: account.clock.boot(), jitter: jitter)
  }
}
