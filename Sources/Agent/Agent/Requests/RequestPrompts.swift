package import AgentCore
package import AgentModel
package import AgentPorts
internal import Synchronization

/// Asks the person whether a request may be made (docs/offline.md, Step-up): one question at a time for each account, and
/// none for a while after a no.
package final class RequestPrompts: Sendable {
  /// After a no, or none in time: a program that asks in a loop must not wear the person down.
  static let pause = Milliseconds.seconds(60)
  /// Callers that wait for their turn, of all accounts.
  private static let mostWaiting = 64

  private struct Refused: Hashable {
    var account: AccountID
    var grant: String?
  }
  private struct State {
    var turns: [AccountID: AsyncMutex] = [:]
    var users: [AccountID: Int] = [:]
    /// Until when a grant's questions are not put.
    var paused: [Refused: BootInstant] = [:]
  }
  private let state = Mutex(State())
  private let vault: VaultActor
  private let stepUps: StepUps
  private let prompter: any Prompter
  private let clock: any AgentClock

  init(
    vault: VaultActor, stepUps: StepUps, prompter: any Prompter, clock: any AgentClock
  ) {
    self.vault = vault
    self.stepUps = stepUps
    self.prompter = prompter
    self.clock = clock
  }

  /// Runs one body at a time for an account.
  func inTurn<Result: Sendable>(
    _ account: AccountID, _ body: @escaping @Sendable () async throws(AgentFailure) -> Result
  ) async throws(AgentFailure) -> Result {
    let turns = state.withLock { state -> AsyncMutex? in
      guard state.users.values.reduce(0, +) < Self.mostWaiting else { return nil }
      state.users[account, default: 0] += 1
      let turns = state.turns[account] ?? AsyncMutex()
      state.turns[account] = turns
      return turns
    }
    guard let turns else { throw .overloaded("questions to the person at one time") }
    defer {
      state.withLock { state in
        state.users[account, default: 1] -= 1
        if state.users[account] == 0 { (state.users[account], state.turns[account]) = (nil, nil) }
      }
    }
    return try await turns.pass { () async throws(AgentFailure) in
      // Its caller went away while it waited.
      if Task.isCancelled { throw .cancelled }
      return try await body()
    }
  }

  /// Puts the question. A yes is in the audit log before it counts. Nil for a yes.
  func ask(
    _ question: RequestQuestion, about capabilities: [String]
  ) async throws(AgentFailure) -> ConfirmationRefusal? {
    let key = Refused(account: question.account, grant: question.caller.grant)
    let now = clock.boot()
    let left = state.withLock { state -> Milliseconds? in
      state.paused = state.paused.filter { $0.value > now }
      return state.paused[key].map { $0 - now }
    }
    if let left { return .paused(left) }
    let profile = try await vault.profile(.id(question.account))
    let answer = await prompter.ask(
      .confirmation(
        RequestPromptText.text(
          method: question.method, question.url, account: profile.shown, client: question.caller.client)))
    switch answer {
    case .confirmed: break
    case .typed, .unavailable: return .unavailable
    case .cancelled where Task.isCancelled: throw .cancelled
    case .cancelled, .timedOut:
      state.withLock { $0.paused[key] = clock.boot() + Self.pause }
      if case .timedOut = answer { return .timedOut }
      return .declined
    }
    let (id, epoch, stepUps) = (question.account, profile.epoch, stepUps)
    let facts: [AuditEntry.Fact] =
      [.origin(question.url.origin), .method(question.method)]
      + (question.caller.grant.map { [.grant($0)] } ?? []) + (question.caller.client.map { [.grantee($0)] } ?? [])
    try await vault.commit { vault throws(AgentFailure) in
      let profile = try vault.directory.signedIn(.id(id))
      guard profile.epoch == epoch else { throw .signedOut(id) }
      let entries = capabilities.map {
        vault.dependencies.audited(.stepUpVerify, account: id, [.capability($0)] + facts)
      }
      return ChangeSet(entries, of: id) { _ in stepUps.confirm(id, capabilities, for: question.caller.grant) }
    }
    return nil
  }
}
