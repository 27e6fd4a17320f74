public import AgentModel

/// The events of the account.
extension ExchangeMachine {
  /// The account is in memory. What the journal says comes with `recover`.
  public mutating func loaded(epoch: UInt64) { grant = Grant(epoch: epoch) }

  /// The account left memory: the vault was locked, or the grant was replaced on the disk. Runs go on.
  public mutating func released() { grant = nil }

  /// A sign-in replaced the grant, and all that belonged to the old one. An overtaken run goes on to its end.
  public mutating func signedIn(epoch: UInt64) {
    grant = Grant(epoch: epoch)
    unfinished = UnfinishedWork()
    current = nil
  }

  /// The token machine began an attempt. Its run begins with `begin`, or after the one that goes on.
  public mutating func attemptBegan(_ attempt: TokenMachine.Attempt) { grant?.attempt = attempt }

  /// Begins the run of an attempt. Nothing begins if the attempt does not count, or a run goes on that will end it.
  public mutating func begin(_ attempt: TokenMachine.Attempt, as run: RunID) -> [Effect] {
    guard grant?.attempt == attempt, current == nil else { return [] }
    current = run
    runs[run] = Run(key: attempt.key, startedAt: attempt.startedAt, step: .queue)
    return takeUp(run)
  }

  /// The vault was locked: an answer that could not be kept until now goes to its inbox, in a run of its own that
  /// attempts after the unlocking wait for. Nothing begins if there is none, or a run sees to it.
  public mutating func vaultLocked(dropAs run: RunID) {
    guard current == nil, let held = unfinished.heldAnswer else { return }
    current = run
    runs[run] = Run(key: held.key, startedAt: held.boot, step: .drop(held))
  }

  /// A sign-out takes the held answer, whose refresh token is to be revoked. Nil if there is none, or a run sees to it.
  public mutating func releaseHeldAnswer() -> ExchangeIntent? {
    current == nil ? unfinished.releaseHeldAnswer() : nil
  }

  /// The answer that a sign-out took could not be kept.
  public mutating func takeBack(_ answer: ExchangeIntent) { unfinished.takeBack(answer) }

  /// The account was loaded, and the journal read. The agent or the vault may have been closed during an exchange: an
  /// answer is gone on with, a request without one is in doubt.
  public mutating func recover(
    _ journal: JournalEntry, generation: UInt64, bootID: String, at now: BootInstant
  ) -> [Effect] {
    guard let epoch = grant?.epoch else { return [] }
    if let run = current.flatMap({ runs[$0] }) {
      // Asked before the vault was locked. If it was answered meanwhile, its attempt goes on with that.
      if case .answer(let staged) = journal, staged.epoch == epoch { unfinished.hold(staged, runs: runs.values) }
      return [.report(.answer(run.key, at: run.startedAt))]
    }
    if case .outcome(let intent, _) = unfinished.leftover {
      if journal.isLast(intent, epoch: epoch, generation: generation) {
        return [.report(.answer(intent.key, at: intent.boot))]
      }
      unfinished.leftover = .nothing
    }
    // One that is held for an earlier sign-in must not hide the staged one.
    if let answer = [unfinished.heldAnswer, journal.answer].compactMap({ $0 }).first(where: { $0.epoch == epoch }) {
      unfinished.hold(answer, runs: runs.values)
      return [.report(.answer(answer.key, at: now))]
    }
    // A request that never left changed nothing: an earlier one may be in doubt.
    guard let intent = journal.intent?.doubt(asReadIn: bootID) else { return [] }
    grant?.uncertain = intent
    return [
      .report(
        .lostRequest(
          sentAt: intent.bootID == bootID ? intent.boot : nil,
          lostReplays: intent.lostReplays + (intent.isReplay ? 1 : 0)))
    ]
  }

  /// What the journal must be told about its request after the account was loaded; nil if nothing. A doubt is told to
  /// subscribers once, and not at each start. A request that never left is taken out in the boot that knows it.
  ///
  /// - Parameters:
  ///   - isInDoubt: the token machine takes the outcome for unknown.
  ///   - wasKnown: it did so before the account was loaded.
  public func correction(
    of journal: JournalEntry, bootID: String, isInDoubt: Bool, wasKnown: Bool
  ) -> (of: ExchangeIntent, end: JournalEnd)? {
    guard current == nil, case .intent(let intent) = journal, intent.epoch == grant?.epoch else { return nil }
    let doubt = intent.doubt(asReadIn: bootID)
    if intent.wasNeverSent(asReadIn: bootID) { return (intent, doubt.map { .inDoubt($0) } ?? .done) }
    return isInDoubt && !wasKnown ? doubt.map { (intent, .inDoubt($0)) } : nil
  }
}

extension ExchangeMachine.JournalEntry {
  var answer: ExchangeIntent? { if case .answer(let intent) = self { intent } else { nil } }

  /// True if nothing was sent since this request: the journal has it, or was told that it spent nothing. `epoch` and
  /// `generation` are those of the grant.
  func isLast(_ request: ExchangeIntent, epoch: UInt64, generation: UInt64) -> Bool {
    switch self {
    case .intent(let last): last.nonce == request.nonce
    case .answer: false
    case .empty: request.epoch == epoch && request.generation == generation
    }
  }
}
