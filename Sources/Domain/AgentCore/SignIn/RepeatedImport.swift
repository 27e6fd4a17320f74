public import AgentModel

/// What an import does with a refresh token whose earlier import left an entry in the journal (docs/tokens.md, Imports).
///
/// The rule is that of a refresh whose answer is lost (`Replay`): no access token is left, so that the person would have to
/// sign in anyway.
public enum RepeatedImport: Hashable, Sendable {
  /// Send it. `lostReplays`: the replays before this one that got no answer; nil: this is no replay.
  case send(lostReplays: Int?)
  /// Send it once more, and not before this time has passed.
  case wait(Milliseconds)
  /// It may be spent: nothing is sent.
  case refuse
  /// The provider's answer is stored: go on with it.
  case goOn

  public init(
    _ entry: ExchangeMachine.JournalEntry, rule: ProviderConfiguration.RefreshRule, bootID: String,
    at now: BootInstant
  ) {
    if case .answer = entry {
      self = .goOn
      return
    }
    guard let lost = entry.intent?.doubt(asReadIn: bootID) else {
      self = .send(lostReplays: nil)
      return
    }
    let sentAt = lost.bootID == bootID ? lost.boot : nil
    let lostReplays = lost.lostReplays + (lost.isReplay ? 1 : 0)
    var replay = Replay(rule: rule)
    // What was sent before this boot was lost at its begin at the latest.
    replay.wasFoundLost(
      sentAt: sentAt, lostReplays: lostReplays, at: sentAt == nil ? BootInstant(milliseconds: 0) : now, jitter: 0)
    if replay.isAllowed(at: now, lastExpiry: nil) {
      self = .send(lostReplays: replay.lostAnswersCount ? lostReplays : nil)
    } else if let later = replay.allowedLater(lastExpiry: nil) {
      self = .wait(later - now)
    } else {
      self = .refuse
    }
  }

  /// What the journal keeps of an import that got no tokens.
  public enum End: Hashable, Sendable {
    /// Nothing: the token was not spent, or the provider refuses it.
    case nothing
    /// The request: its outcome is unknown.
    case request
    /// What it had before: the request was a replay, and was not served.
    case earlier
  }

  public static func end(
    after failure: ExchangeFailure, rule: ProviderConfiguration.RefreshRule, isReplay: Bool
  ) -> End {
    let failure = Replay(rule: rule).judged(failure, after: nil)
    if case .unknownOutcome = failure { return .request }
    return isReplay && failure.leavesTheTokenUnspent ? .earlier : .nothing
  }
}
