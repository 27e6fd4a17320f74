internal import AgentModel

/// Whether a refresh token whose first use has an unknown outcome may be sent once more (docs/tokens.md, Unknown
/// outcome; I4 of `TokenMachine`).
struct Replay {
  struct LostRequest: Hashable {
    /// Nil if the machine was booted since.
    var sentAt: BootInstant?
    var replayIsSpent: Bool
  }

  var rule: ProviderConfiguration.RefreshRule
  /// The request whose answer is lost; nil if none is, or if nothing is known of it any more.
  private(set) var lost: LostRequest?

  init(rule: ProviderConfiguration.RefreshRule) { self.rule = rule }

  /// False where refresh tokens are not rotated, so that a lost answer costs nothing.
  var lostAnswersCount: Bool { rule.reuse != .none }

  // MARK: what happens

  mutating func answerWasLost(sentAt: BootInstant?, replayIsSpent: Bool) {
    lost = LostRequest(sentAt: sentAt, replayIsSpent: replayIsSpent)
  }

  /// A replay begins.
  mutating func spend() { lost?.replayIsSpent = true }

  /// The replay was not sent, or the provider did not serve it.
  mutating func giveBack() { lost?.replayIsSpent = false }

  mutating func forget() { lost = nil }

  // MARK: the rule

  /// May the refresh token be sent once more now? `lastExpiry`: when the last access token expires; nil if none lives.
  func isAllowed(at now: BootInstant, lastExpiry: BootInstant?) -> Bool {
    lost?.replayIsSpent == false && isForgiven(at: now, lastExpiry: lastExpiry)
  }

  /// `grace(n)` forgives a reuse for n seconds, and half of them leaves room for the way there; `replayOnce` is the
  /// explicit choice in the provider's configuration; `replayLast` waits until no access token is left, when the person
  /// would have to sign in anyway.
  func isForgiven(at now: BootInstant, lastExpiry: BootInstant?) -> Bool {
    guard lost != nil else { return false }
    if rule.reuse == .none || graceEnd.map({ now < $0 }) == true { return true }
    switch rule.onUnknownOutcome {
    case .replayOnce: return rule.reuse == .strict
    case .replayLast: return lastExpiry == nil
    case .reauthenticate, nil: return false
    }
  }

  /// When `grace` forgives no second use any more; nil where it never did.
  var graceEnd: BootInstant? {
    guard rule.reuse == .grace, let sentAt = lost?.sentAt else { return nil }
    return sentAt + Milliseconds.seconds(rule.graceSeconds) / 2
  }

  /// When `replayLast` allows the replay that it does not allow yet.
  func allowedLater(lastExpiry: BootInstant?) -> BootInstant? {
    guard rule.onUnknownOutcome == .replayLast, lost?.replayIsSpent == false else { return nil }
    return lastExpiry
  }

  /// Before a replay to a server that has trouble: long enough for a restart, and within the grace, if there is one.
  func pause(at now: BootInstant) -> Milliseconds {
    let pause = Milliseconds.seconds(30)
    guard let left = graceEnd.map({ $0 - now }) else { return pause }
    return left > .zero ? min(pause, left / 2) : pause
  }

  /// A gateway that got no answer in time, or a bad one, does not know what the provider behind it did: the refresh
  /// token may be spent. An internal error may come before or after it was spent: the first is taken for the one, a
  /// second in a row for the other.
  func judged(_ failure: ExchangeFailure, after last: ExchangeFailure?) -> ExchangeFailure {
    guard lostAnswersCount, case .transient(let word, let retryAfter) = failure else { return failure }
    switch word {
    case FailureClassifier.word(of: 502), FailureClassifier.word(of: 504):
      return .unknownOutcome(word, retryAfter: retryAfter)
    case FailureClassifier.word(of: 500):
      if case .transient(word, _)? = last { return .unknownOutcome(word, retryAfter: retryAfter) }
      return failure
    default: return failure
    }
  }
}
