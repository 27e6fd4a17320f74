internal import AgentModel

/// The pause after failures in a row, during which the provider is not asked again.
struct RetryPause {
  /// The last pause, also once it is over; nil after a success.
  @Rare private(set) var patience: TokenMemory.Patience?

  init(_ patience: TokenMemory.Patience?) { self.patience = patience }

  /// Failures in a row that asked for patience.
  var failures: Int { patience?.failures ?? 0 }

  /// The failures in a row were explained so seldom that the next unexplained one is taken for the end of the grant.
  var isLastUnexplained: Bool { patience?.unexplained ?? 0 >= Self.mostUnexplained }

  /// The refusal of a request now; nil if the pause is over.
  func refusal(at now: BootInstant) -> TokenMachine.Refusal? {
    guard let patience, now < patience.until else { return nil }
    return TokenMachine.Refusal(patience.failure, pause: patience.until - now)
  }

  mutating func hold(_ failure: ExchangeFailure, for pause: Milliseconds, at now: BootInstant) {
    let isUnexplained = if case .unexplained = failure { true } else { false }
    patience = TokenMemory.Patience(
      until: now + pause, failure: failure, failures: failures + 1,
      unexplained: (patience?.unexplained ?? 0) + (isUnexplained ? 1 : 0))
  }

  mutating func forget() { patience = nil }

  /// The provider may be reachable again: the pause no longer holds the next caller back.
  mutating func end() { patience?.until = BootInstant(milliseconds: 0) }

  // MARK: lengths

  /// After the next failure.
  func backoff(_ jitter: Double) -> Milliseconds { Backoff.pause(failures: failures + 1, jitter: jitter) }

  /// Never zero: a provider whose answers can't be understood is not asked again at once. A page comes from a portal, a
  /// proxy or a gateway, which takes longer to get out of the way.
  static func length(after failure: ExchangeFailure, failures: Int, _ jitter: Double) -> Milliseconds {
    let shortest =
      if case .unexplained(_, isPage: true) = failure { pagePause * Int64(failures) } else { Backoff.shortest }
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
