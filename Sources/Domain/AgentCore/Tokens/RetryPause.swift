internal import AgentModel

/// The pause after failures in a row. Until its end the agent does not ask the provider by itself; a caller that waits
/// is held back for `Backoff.longestForCallers` at most, and its failed attempt begins that time anew for all callers.
struct RetryPause {
  /// The last pause, also once it is over; nil after a success.
  @Rare private(set) var patience: TokenMemory.Patience?

  init(_ patience: TokenMemory.Patience?) { self.patience = patience }

  /// Failures in a row that asked for patience.
  var failures: Int { patience?.failures ?? 0 }

  /// The failures in a row were explained so seldom that this unexplained one is taken for the end of the grant. A page
  /// may be of a portal: one that a caller meets before the end of the pause decides nothing.
  func isLastUnexplained(_ failure: ExchangeFailure, at now: BootInstant) -> Bool {
    guard let patience else { return false }
    return patience.unexplained >= Self.mostUnexplained && (!failure.isPage || now >= patience.until)
  }

  /// The refusal of a request now; nil if the pause is over.
  func refusal(at now: BootInstant, ofACaller: Bool) -> TokenMachine.Refusal? {
    guard let patience else { return nil }
    let end = ofACaller ? patience.callersUntil : patience.until
    return now < end ? TokenMachine.Refusal(patience.failure, pause: end - now) : nil
  }

  /// - Parameters:
  ///   - pause: until the agent asks again by itself.
  ///   - callers: until a caller's request is sent; nil: as long as that.
  ///
  /// Before the end of the last pause this is the failure of a caller's attempt. It makes that pause no longer, or a
  /// caller that asks again and again would keep the agent from asking; nor does it count as one of the failures in a
  /// row, which stand for the time that has passed.
  mutating func hold(
    _ failure: ExchangeFailure, for pause: Milliseconds, callers: Milliseconds? = nil, at now: BootInstant
  ) {
    let callersUntil = now + min(pause, callers ?? pause)
    if var early = patience, now < early.until {
      early.failure = failure
      early.callersUntil = callersUntil
      early.until = max(early.until, callersUntil)
      if failure.isUnexplained, !failure.isPage { early.unexplained += 1 }
      patience = early
      return
    }
    patience = TokenMemory.Patience(
      until: now + pause, callersUntil: callersUntil, failure: failure, failures: failures + 1,
      unexplained: (patience?.unexplained ?? 0) + (failure.isUnexplained ? 1 : 0))
  }

  mutating func forget() { patience = nil }

  /// The provider may be reachable again: the pause no longer holds back an attempt.
  mutating func end() {
    patience?.until = BootInstant(milliseconds: 0)
    patience?.callersUntil = BootInstant(milliseconds: 0)
  }

  // MARK: lengths

  /// After the next failure.
  func backoff(_ jitter: Double) -> Milliseconds { Backoff.pause(failures: failures + 1, jitter: jitter) }

  /// Never zero: a provider whose answers can't be understood is not asked again at once. A page comes from a portal, a
  /// proxy or a gateway, which takes longer to get out of the way.
  static func length(after failure: ExchangeFailure, failures: Int, _ jitter: Double) -> Milliseconds {
    let shortest = failure.isPage ? pagePause * Int64(failures) : Backoff.shortest
    return max(shortest, Backoff.pause(failures: failures, jitter: jitter))
  }

  /// Times the number of failures in a row: a page that still comes after two and a half minutes is taken for
  /// the provider's.
  private static let pagePause = Milliseconds.seconds(30)

  /// A provider that failed inside may need more than a moment, and a second internal error counts as a lost answer.
  static let afterInternalError = Milliseconds.seconds(5)

  /// How long a rejected request is refused from memory: a program that asks in a loop must not reach the provider each
  /// time.
  static let afterRejection = Milliseconds.seconds(60)

  /// After so many refusals that the agent can't explain, the next one is taken for the end of the grant.
  static let mostUnexplained = 2
}
