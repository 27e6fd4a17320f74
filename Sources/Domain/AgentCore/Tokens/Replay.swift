internal import AgentModel

/// Whether a refresh token whose first use has an unknown outcome may be sent once more (docs/tokens.md, Unknown
/// outcome; I4 of `TokenMachine`).
struct Replay {
  struct LostRequest: Hashable {
    /// Nil if the machine was booted since.
    var sentAt: BootInstant?
    /// `replayLast` sends the refresh token again no sooner.
    var replayAt: BootInstant
    /// Replays that got no answer either.
    var lostReplays = 0
    /// A replay is in flight, or was answered.
    var replayIsSpent = false
    /// An answer came to the last of them, and leaves the outcome open.
    var hasUnclearAnswer = false
  }

  var rule: ProviderConfiguration.RefreshRule
  /// The request whose answer is lost; nil if none is, or if nothing is known of it any more.
  private(set) var lost: LostRequest?

  init(rule: ProviderConfiguration.RefreshRule) { self.rule = rule }

  /// False where refresh tokens are not rotated, so that a lost answer costs nothing.
  var lostAnswersCount: Bool { rule.reuse != .none }

  // MARK: what happens

  /// The answer of a request, or of its replay, did not come, or leaves the outcome open (`isUnclear`). `notBefore`: the
  /// pause that the provider asked for.
  mutating func answerWasLost(
    sentAt: BootInstant?, wasReplay: Bool, isUnclear: Bool = false, notBefore: Milliseconds = .zero,
    at now: BootInstant, jitter: Double
  ) {
    var lost = lost ?? LostRequest(sentAt: sentAt, replayAt: now)
    if wasReplay {
      lost.lostReplays += 1
      lost.replayIsSpent = false
    } else {
      lost = LostRequest(sentAt: sentAt, replayAt: now)
    }
    lost.replayAt = now + max(notBefore, Self.pauseBeforeReplay(number: lost.lostReplays + 1, jitter: jitter))
    lost.hasUnclearAnswer = isUnclear
    self.lost = lost
  }

  /// The agent ended between a request, or its replay, and the answer. `lostReplays`: with that one. The answer of a request that was sent long ago was
  /// lost long ago.
  mutating func wasFoundLost(sentAt: BootInstant?, lostReplays: Int, at now: BootInstant, jitter: Double) {
    lost = LostRequest(sentAt: sentAt, replayAt: now, lostReplays: lostReplays)
    let lostAt = sentAt.map { min(now, $0 + Self.longestRequest) } ?? now
    lost?.replayAt = lostAt + Self.pauseBeforeReplay(number: lostReplays + 1, jitter: jitter)
  }

  /// A replay begins. One that is answered is the last.
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
    guard let lost else { return false }
    if rule.reuse == .none || isAtOnce(lost, at: now) { return true }
    return mayBeLast(lost) && lastExpiry == nil && now >= lost.replayAt
  }

  /// The replay that needs no wait: the person or the provider said that it does no harm. There is one.
  private func isAtOnce(_ lost: LostRequest, at now: BootInstant) -> Bool {
    lost.lostReplays == 0
      && (graceEnd.map { now < $0 } == true || rule.reuse == .strict && rule.onUnknownOutcome == .replayOnce)
  }

  /// Where the person would have to sign in anyway, a replay that got no answer costs nothing: another may follow.
  private func mayBeLast(_ lost: LostRequest) -> Bool {
    rule.onUnknownOutcome == .replayLast && lost.lostReplays < mostLostReplays
  }

  /// When `grace` forgives no second use any more; nil where it never did.
  var graceEnd: BootInstant? {
    guard rule.reuse == .grace, let sentAt = lost?.sentAt else { return nil }
    return sentAt + Milliseconds.seconds(rule.graceSeconds) / 2
  }

  /// When `replayLast` allows the replay that it does not allow yet.
  func allowedLater(lastExpiry: BootInstant?) -> BootInstant? {
    guard let lost, !lost.replayIsSpent, mayBeLast(lost) else { return nil }
    return max(lost.replayAt, lastExpiry ?? lost.replayAt)
  }

  /// The replay in flight is one of `replayLast`, which waits for a provider that answers. One at once has no time to.
  func waitsForAnAnswer(at now: BootInstant) -> Bool {
    lost.map { !isAtOnce($0, at: now) && lostAnswersCount } ?? false
  }

  /// Before a replay to a server that has trouble: long enough for a restart, and within the grace, if there is one.
  func pause(at now: BootInstant) -> Milliseconds {
    let pause = Milliseconds.seconds(30)
    guard let left = graceEnd.map({ $0 - now }) else { return pause }
    return left > .zero ? min(pause, left / 2) : pause
  }

  /// From the lost answer to the replay of `replayLast`: what dropped the connection needs time to get out of the way. It
  /// doubles with each replay that got no answer, and again by the jitter.
  private static func pauseBeforeReplay(number: Int, jitter: Double) -> Milliseconds {
    let shortest = shortestPauseBeforeReplay * (Int64(1) << Int64(min(max(number, 1), 4) - 1))
    return shortest + Milliseconds(Int64(Double(shortest.count) * jitter))
  }

  static let shortestPauseBeforeReplay = Milliseconds.seconds(15)

  /// Replays without an answer until the person is asked to sign in: the last one, and another in case that the same
  /// trouble took it. `grace` has one at once besides.
  private var mostLostReplays: Int { rule.reuse == .grace ? 3 : 2 }

  /// No request to a token endpoint takes longer.
  private static let longestRequest = Milliseconds.seconds(30)

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
