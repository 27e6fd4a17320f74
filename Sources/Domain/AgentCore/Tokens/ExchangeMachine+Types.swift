public import AgentModel

extension ExchangeMachine {
  /// Names a run: its place in the queue. No two runs of one agent share it.
  public typealias RunID = ExchangeQueue.Ticket

  /// The current step of a run. The shell performs it and reports the result.
  public enum Step: Hashable, Sendable {
    /// Revoke an answer that was held for an earlier sign-in; the run goes on after it.
    case revokeHeld(ExchangeIntent)
    /// Wait for a place among the exchanges of all accounts.
    case queue
    /// Make the intent for this attempt.
    case prepare(TokenMachine.Attempt)
    /// Make a connection for the request.
    case connect(ExchangeIntent)
    /// Make the intent durable: the connection stands, and nothing has been sent on it.
    case begin(ExchangeIntent)
    /// Mark the durable intent as leaving, so that it survives the death of the process.
    case mark(ExchangeIntent)
    /// Send the request, once.
    case send(ExchangeIntent)
    /// Close the connection without the request.
    case withhold(ExchangeIntent, Beginning)
    /// Make the raw answer durable.
    case stage(ExchangeIntent)
    /// Read the answer.
    case judge(ExchangeIntent)
    /// Revoke what came for another person, and the refresh token that it was asked with.
    case disown(ExchangeIntent, reason: String)
    /// Make the new grant durable.
    case commit(ExchangeIntent)
    /// Take the new grant into memory, with its access token or without.
    case adopt(ExchangeIntent, takesToken: Bool)
    /// Make durable what a failure means for the grant and the journal. Without an intent nothing was sent.
    case settle(ExchangeIntent?, ExchangeFailure, attempt: UInt64, JournalEnd)
    /// Note in the locked vault's inbox that this request spent nothing.
    case noteUnspent(ExchangeIntent)
    /// Put an answer that was held into the locked vault's inbox.
    case drop(ExchangeIntent)
    /// Revoke an answer that came too late for its account.
    case revokeOvertaken(ExchangeIntent)
    /// Leave the queue and make room for the next run.
    case end
  }

  /// An effect that the shell performs at once, without waiting.
  public enum Effect: Hashable, Sendable {
    /// Start a run for this attempt.
    case start(TokenMachine.Attempt)
    /// Give the run's place in the queue to the next.
    case leaveQueue(RunID)
    /// Give up the account's memory: the vault is locked.
    case release
    /// Discard what is being loaded: it was read before a run ended.
    case outdateLoads
    /// Write a failure to the log.
    case logFailure(ExchangeFailure, attempt: UInt64)
    /// Tell the token machine.
    case report(Report)
    /// Forget the refresh token that another person's answer was asked with.
    case forgetRefreshToken
    /// Hand the standard token to `TokenCache`.
    case publish
    /// Tell subscribers which scopes were lost.
    case tellScopes
    /// Tell subscribers of changed rights.
    case tellRights
    /// Tell subscribers of the new token.
    case tellRefreshed
    /// Answer the callers that waited for the token.
    case answerWaiters
    /// Ask the provider for rights that stand beside tokens.
    case askAboutRights
    /// Plan the next renewal.
    case watchRenewal
  }

  /// A report to the token machine.
  public enum Report: Hashable, Sendable {
    /// The answer is held in memory.
    case held(attempt: UInt64)
    case failure(ExchangeFailure, attempt: UInt64)
    /// The attempt renewed the grant without a token that can be used.
    case noToken(attempt: UInt64)
    /// The attempt brought a token. Its waiters are answered later.
    case token(attempt: UInt64)
    /// An answer is there, which an attempt goes on with.
    case answer(TokenKey, at: BootInstant)
    /// A request was sent and its answer lost. `sentAt` is nil after a reboot.
    case lostRequest(sentAt: BootInstant?, lostReplays: Int)
  }

  /// The outcome of a run's step.
  public enum Outcome: Hashable, Sendable {
    case heldWasRevoked
    /// The run left the queue: it may go, or the agent ends.
    case queued(isAdmitted: Bool)
    /// The attempt is a replay, and its provider does not answer now: the replay would be lost too.
    case providerIsSilent
    case prepared(Preparation)
    /// The connection has ended: with an answer, or with none.
    case sent(Reply)
    case staged(Staging)
    case judged(Judgement)
    case disowned
    case committed(Commitment)
    case adopted(hasToken: Bool)
    case settled
    case unspentWasNoted
    case dropped(Staging)
    case overtakenWasRevoked
    case ended
  }

  /// The findings of a run before it writes an intent.
  public enum Preparation: Hashable, Sendable {
    case ready(ExchangeIntent)
    /// The run waited in the queue until the provider no longer forgives a second use.
    case graceElapsed
    case noRefreshToken
    /// The refresh token of a disabled account is on the disk, and could not be read.
    case storeFailed
  }

  /// The result of writing an intent.
  public enum Beginning: Hashable, Sendable {
    case durable
    /// The connection came when the provider no longer forgives a second use.
    case graceElapsed
    /// The account is in another epoch.
    case overtaken
    case storeFailed
    /// The intent is durable, and its mark could not be stored.
    case unmarked
  }

  /// The result of marking an intent as leaving.
  public enum Marking: Hashable, Sendable {
    case done
    /// The account is in another epoch, or the vault is locked.
    case overtaken
    case storeFailed
  }

  /// The result of sending a request.
  public enum Reply: Hashable, Sendable {
    case answered(sentAt: BootInstant)
    case failed(ExchangeFailure)
  }

  /// The result of staging an answer.
  public enum Staging: Hashable, Sendable {
    case staged
    /// In the inbox of the locked vault.
    case dropped
    /// Nowhere: the account is in another epoch.
    case overtaken
    case storeFailed
  }

  /// The judgement of an answer.
  public enum Judgement: Hashable, Sendable {
    case usable
    case unreadable
    case withoutTokens
    /// Its ID token names another person or another sign-in.
    case anotherPerson(reason: String)
  }

  /// The result of committing a new grant.
  public enum Commitment: Hashable, Sendable {
    case durable
    case overtaken
    case vaultLocked
    case storeFailed
  }

  /// The journal's entry after an exchange that brought no token.
  public enum JournalEnd: Hashable, Sendable {
    case done
    /// This request was sent and its answer lost.
    case inDoubt(ExchangeIntent)
  }

  /// The journal's entry when an account is loaded.
  public enum JournalEntry: Hashable, Sendable {
    case empty
    /// A request that was about to be sent.
    case intent(ExchangeIntent)
    /// A request and its answer.
    case answer(ExchangeIntent)

    var intent: ExchangeIntent? {
      switch self {
      case .empty: nil
      case .intent(let intent), .answer(let intent): intent
      }
    }
  }
}

extension ExchangeMachine.Step {
  /// The request whose answer the step needs.
  var answer: ExchangeIntent? {
    switch self {
    case .revokeHeld(let intent), .stage(let intent), .judge(let intent), .disown(let intent, _),
      .commit(let intent), .adopt(let intent, _), .drop(let intent), .revokeOvertaken(let intent):
      intent
    case .queue, .prepare, .connect, .begin, .mark, .send, .withhold, .settle, .noteUnspent, .end: nil
    }
  }
}

extension ExchangeFailure {
  /// The provider did not serve the request, or never got it: the refresh token is as good as before.
  var leavesTheTokenUnspent: Bool {
    switch self {
    case .offline, .untrustedServer, .transient, .unexplained, .locked, .interaction, .misconfigured, .store: true
    case .unknownOutcome, .reauthenticate: false
    }
  }
}
