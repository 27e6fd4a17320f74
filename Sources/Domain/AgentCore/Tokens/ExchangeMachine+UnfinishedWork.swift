internal import AgentModel

extension ExchangeMachine {
  /// The work that runs left for the next one.
  public struct UnfinishedWork: Hashable, Sendable {
    // Indirect: mostly there is nothing, which takes no room then.
    public indirect enum Leftover: Hashable, Sendable {
      case nothing
      /// An answer that is not committed: the disk failed, or the agent ended. Its bytes stay in guarded memory.
      case answer(ExchangeIntent)
      /// The result of a request that ended while the vault was locked, so that the journal does not have it yet. Without
      /// a failure: nothing was sent.
      case outcome(ExchangeIntent, ExchangeFailure?)
    }

    /// The work for a run before its own request.
    enum Task {
      /// Revoke an answer that was held for an earlier sign-in.
      case revoke(ExchangeIntent)
      /// Go on with an answer that is held.
      case stage(ExchangeIntent)
      /// Tell the journal how this request ended.
      case settle(ExchangeIntent, ExchangeFailure)
    }

    public internal(set) var leftover = Leftover.nothing
    /// An answer that was held for an earlier sign-in, and made way for one of the current: it is revoked by the next
    /// run.
    @Rare var overtakenAnswer: ExchangeIntent? = nil

    /// An answer that is held until a run commits it.
    public var heldAnswer: ExchangeIntent? { if case .answer(let intent) = leftover { intent } else { nil } }

    /// Takes the next task of a run for the sign-in `epoch`; nil if its own request is next.
    mutating func takeNext(in epoch: UInt64) -> Task? {
      if let overtaken = overtakenAnswer {
        overtakenAnswer = nil
        return .revoke(overtaken)
      }
      if let held = heldAnswer, held.epoch == epoch { return .stage(held) }
      defer { leftover = .nothing }
      switch leftover {
      case .answer(let held): return .revoke(held)
      case .outcome(let intent, let failure?): return .settle(intent, failure)
      case .outcome(_, nil), .nothing: return nil
      }
    }

    /// Holds an answer of the current sign-in. One of an earlier sign-in makes way, and stays to be revoked unless a run
    /// sees to it already.
    mutating func hold(_ answer: ExchangeIntent, runs: some Collection<Run>) {
      if let held = heldAnswer, held.epoch < answer.epoch, !runs.contains(where: { $0.step.answer == held }) {
        overtakenAnswer = held
      }
      leftover = .answer(answer)
    }

    /// Forgets the held answer, if it is this one.
    mutating func forget(_ answer: ExchangeIntent) {
      if heldAnswer?.nonce == answer.nonce { leftover = .nothing }
    }

    /// The held answer, for a sign-out; nil if there is none.
    mutating func releaseHeldAnswer() -> ExchangeIntent? {
      guard let held = heldAnswer else { return nil }
      leftover = .nothing
      return held
    }

    /// The answer that a sign-out took could not be kept.
    mutating func takeBack(_ answer: ExchangeIntent) {
      if heldAnswer == nil { leftover = .answer(answer) }
    }
  }
}
