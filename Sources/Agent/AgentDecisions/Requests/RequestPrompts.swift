internal import AgentCore
internal import AgentModel
package import AgentPorts
package import AgentRecords
package import AgentStore
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
  /// The callers that ask about one account: one has its turn, the others wait in their order.
  private struct Line {
    var last: UInt64 = 0
    var waiting: [(id: UInt64, turn: AsyncStream<Void>.Continuation)] = []
  }
  private struct State {
    /// Of the accounts that a caller asks about now.
    var lines: [AccountID: Line] = [:]
    /// Until when a grant's questions are not put.
    var paused: [Refused: BootInstant] = [:]
  }
  private let state = Mutex(State())
  private let vault: VaultActor
  private let stepUps: StepUps
  private let prompter: any Prompter
  private let clock: any AgentClock

  package init(
    vault: VaultActor, stepUps: StepUps, prompter: any Prompter, clock: any AgentClock
  ) {
    self.vault = vault
    self.stepUps = stepUps
    self.prompter = prompter
    self.clock = clock
  }

  /// Runs one body at a time for an account. A caller that goes away leaves the line.
  func inTurn<Result: Sendable>(
    _ account: AccountID, _ body: @Sendable () async throws(AgentFailure) -> Result
  ) async throws(AgentFailure) -> Result {
    if let (id, turn) = try enter(account) {
      var isMine = false
      for await _ in turn {
        isMine = true
        break
      }
      guard isMine, !Task.isCancelled else {
        leave(account, id)
        throw .cancelled
      }
    }
    defer { next(account) }
    return try await body()
  }

  /// Nil if it is the caller's turn at once.
  private func enter(_ account: AccountID) throws(AgentFailure) -> (UInt64, AsyncStream<Void>)? {
    try state.withLock { (state) throws(AgentFailure) in
      guard var line = state.lines[account] else {
        state.lines[account] = Line()
        return nil
      }
      guard state.lines.values.reduce(0, { $0 + $1.waiting.count }) < Self.mostWaiting else {
        throw .overloaded("questions to the person at one time")
      }
      let (turns, turn) = AsyncStream<Void>.makeStream()
      line.last += 1
      line.waiting.append((line.last, turn))
      state.lines[account] = line
      return (line.last, turns)
    }
  }

  /// A caller does not wait any more. One that got its turn meanwhile hands it on.
  private func leave(_ account: AccountID, _ id: UInt64) {
    let waited = state.withLock { state -> Bool in
      guard let place = state.lines[account]?.waiting.firstIndex(where: { $0.id == id }) else { return false }
      state.lines[account]?.waiting.remove(at: place)
      return true
    }
    if !waited { next(account) }
  }

  private func next(_ account: AccountID) {
    let turn = state.withLock { state -> AsyncStream<Void>.Continuation? in
      guard state.lines[account]?.waiting.isEmpty == false else {
        state.lines[account] = nil
        return nil
      }
      return state.lines[account]?.waiting.removeFirst().turn
    }
    turn?.yield()
    turn?.finish()
  }

  /// Puts the question. A yes is in the audit log before it counts. Nil for a yes.
  func ask(
    _ question: RequestQuestion, about capabilities: [String]
  ) async throws(AgentFailure) -> ConfirmationRefusal? {
    let (id, stepUps) = (question.account, stepUps)
    let epoch = try await vault.profile(.id(id)).epoch
    if let refusal = try await put(question) { return refusal }
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

  /// Puts the question, which has no effect but the pause after a no. Nil for a yes.
  func put(_ question: RequestQuestion) async throws(AgentFailure) -> ConfirmationRefusal? {
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
    case .confirmed: return nil
    case .typed, .unavailable: return .unavailable
    case .cancelled where Task.isCancelled: throw .cancelled
    case .cancelled, .timedOut:
      state.withLock { $0.paused[key] = clock.boot() + Self.pause }
      if case .timedOut = answer { return .timedOut }
      return .declined
    }
  }
}
