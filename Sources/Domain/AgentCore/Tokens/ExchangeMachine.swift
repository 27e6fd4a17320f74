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
/// What the account tells is in `ExchangeMachine+Account.swift`, what runs report in `ExchangeMachine+Steps.swift`, and
/// what they left for the next one in `UnfinishedWork`.
public struct ExchangeMachine: Hashable, Sendable {
  /// The account as it is in memory.
  struct Grant: Hashable {
    var epoch: UInt64
    /// The attempt of the token machine that waits for a run's end.
    @Rare var attempt: TokenMachine.Attempt? = nil
    /// The request whose outcome is unknown, as the journal has it: a replay that never left goes back to it.
    @Rare var uncertain: ExchangeIntent? = nil

    /// What stays in the journal: what is in doubt, and if a replay never left, what was in doubt before it.
    mutating func journalEnd(after failure: ExchangeFailure, of intent: ExchangeIntent) -> JournalEnd {
      switch failure {
      case .unknownOutcome:
        uncertain = intent
        return .inDoubt(intent)
      case .transient: return intent.isReplay ? .inDoubt(uncertain ?? intent) : .done
      case .offline, .untrustedServer, .store:
        return intent.isReplay ? uncertain.map { .inDoubt($0) } ?? .done : .done
      // A replay that was answered is the last: if the doubt stands, the health says so, and no request waits for another.
      case .reauthenticate, .unexplained, .locked, .interaction, .misconfigured: return .done
      }
    }
  }

  struct Run: Hashable {
    var key: TokenKey
    var startedAt: BootInstant
    var step: Step
    var isInQueue = false
  }

  /// Nil while the account is not in memory.
  var grant: Grant?
  public internal(set) var unfinished = UnfinishedWork()
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
    let unfinished = [unfinished.heldAnswer, unfinished.overtakenAnswer]
    return Set((unfinished + runs.values.map(\.step.answer)).compactMap { $0?.nonce })
  }

  // MARK: what stands

  /// The attempt that this run ends, if it still counts.
  func attempt(of run: RunID, epoch: UInt64? = nil) -> TokenMachine.Attempt? {
    guard current == run, let grant, epoch == nil || grant.epoch == epoch else { return nil }
    return grant.attempt
  }
}
