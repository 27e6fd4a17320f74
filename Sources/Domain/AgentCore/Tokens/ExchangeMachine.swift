internal import AgentModel

/// One refresh after the other, in the journal's order: connect, intent, mark, send once, stage, judge, commit, answer
/// (docs/tokens.md, Journal). A value that performs nothing and holds no secret: it names an answer by its request, and
/// the shell keeps the bytes of `neededAnswers`.
///
/// A *run* carries out an attempt of the token machine, step by step. It outlives a locking of the vault: the attempt
/// that begins after the unlocking waits for it, and is ended by it.
///
/// - At most one run counts. A sign-in takes its place: it then only revokes what it still brings.
/// - A report for a step that the run is not at changes nothing.
/// - An answer that came is kept before a new request leaves: its refresh token is the only one that lives.
///
/// What the account tells is in `ExchangeMachine+Account.swift`, what runs report in `ExchangeMachine+Steps.swift`.
public struct ExchangeMachine: Hashable, Sendable {
  /// The account as it is in memory.
  struct Grant: Hashable {
    var epoch: UInt64
    /// The attempt of the token machine that waits for a run's end.
    var attempt: TokenMachine.Attempt?
    /// The request whose outcome is unknown, as the journal has it: a replay that never left goes back to it.
    var uncertain: ExchangeIntent?
  }

  struct Run: Hashable {
    var key: TokenKey
    var startedAt: BootInstant
    var step: Step
    var isInQueue = false
  }

  /// The work that a run left for the next one.
  public enum Leftover: Hashable, Sendable {
    case nothing
    /// An answer that is not committed: the disk failed, or the agent ended. Its bytes stay in guarded memory.
    case answer(ExchangeIntent)
    /// The result of a request that ended while the vault was locked, so that the journal does not have it yet. Without
    /// a failure: nothing was sent.
    case outcome(ExchangeIntent, ExchangeFailure?)
  }

  /// Nil while the account is not in memory.
  var grant: Grant?
  public internal(set) var leftover = Leftover.nothing
  /// An answer that was held for an earlier sign-in, and made way for one of the current: it is revoked by the next
  /// run.
  var overtakenAnswer: ExchangeIntent?
  /// The run that counts.
  public internal(set) var current: RunID?
  /// With the runs that a sign-in has overtaken.
  var runs: [RunID: Run] = [:]

  public init() {}

  // MARK: what the shell asks

  /// The run's current step; nil if it has ended.
  public func step(of run: RunID) -> Step? { runs[run]?.step }

  /// The nonces of all answers whose bytes are still needed; the shell wipes the others.
  public var neededAnswers: Set<[UInt8]> {
    Set(([heldAnswer, overtakenAnswer] + runs.values.map(\.step.answer)).compactMap { $0?.nonce })
  }

  /// An answer that is held until a run commits it.
  public var heldAnswer: ExchangeIntent? { if case .answer(let intent) = leftover { intent } else { nil } }

  // MARK: what stands

  /// The attempt that this run ends, if it still counts.
  func attempt(of run: RunID, epoch: UInt64? = nil) -> TokenMachine.Attempt? {
    guard current == run, let grant, epoch == nil || grant.epoch == epoch else { return nil }
    return grant.attempt
  }

  /// Holds an answer of the current sign-in. One of an earlier sign-in makes way, and stays to be revoked unless a run
  /// sees to it already.
  mutating func hold(current answer: ExchangeIntent) {
    if let held = heldAnswer, held.epoch < answer.epoch, !runs.values.contains(where: { $0.step.answer == held }) {
      overtakenAnswer = held
    }
    leftover = .answer(answer)
  }

  /// Forgets the held answer, if it is this one.
  mutating func forgetHeld(_ answer: ExchangeIntent) {
    if heldAnswer?.nonce == answer.nonce { leftover = .nothing }
  }
}
