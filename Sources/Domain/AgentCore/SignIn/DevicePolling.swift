public import AgentModel

/// The polling interval of the device flow, and what ends the polling (RFC 8628 §3.5).
public struct DevicePolling: Hashable, Sendable {
  /// Minimum time between two requests; each `slow_down` lengthens it permanently.
  public private(set) var interval: Milliseconds
  /// Consecutive requests without an answer about the code.
  private var failures = 0
  /// Consecutive refusals without a known meaning.
  private var unexplained = 0
  /// A response was lost. It may have held the tokens, which are issued once.
  private var lostAResponse = false

  /// The interval if the provider names none (RFC 8628 §3.2).
  public static let defaultInterval = Milliseconds.seconds(5)
  /// The time that `slow_down` adds to the interval (RFC 8628 §3.5).
  public static let slowDown = Milliseconds.seconds(5)
  /// Upper bound for the pause after failures: the person waits for the result, so polling resumes soon after the
  /// network returns.
  public static let longestPause = Milliseconds.seconds(30)
  /// As with refreshes, a refusal without a known meaning counts as transient twice.
  private static let unexplainedAtMost = 2

  public init(interval: Milliseconds) { self.interval = interval }

  /// A response of the token endpoint without tokens.
  public enum Answer: Hashable, Sendable {
    case pending, slowDown, denied, expired
    /// The provider does not know the code: it was used, has expired, or was never issued.
    case unknownCode
    case failed(ExchangeFailure)

    /// The meaning of an `error`, at any status; nil if the error does not concern the code.
    public init?(error: String) {
      switch error {
      case "authorization_pending": self = .pending
      case "slow_down": self = .slowDown
      case "access_denied",
        "authorization_declined":  // Microsoft Entra
        self = .denied
      case "expired_token": self = .expired
      case "invalid_grant",
        "bad_verification_code",  // Microsoft Entra
        "device_not_found",  // django-oauth-toolkit, with 404
        "incorrect_device_code":  // GitHub
        self = .unknownCode
      default: return nil
      }
    }
  }

  /// The next step of the polling.
  public enum Verdict: Hashable, Sendable {
    case ask(after: Milliseconds)
    case ended(End)
  }

  /// Why the polling ended.
  public enum End: Hashable, Sendable {
    case denied, expired, unknownCode
    /// The response with the tokens was lost.
    case answerLost
    case failed(ExchangeFailure)
  }

  public mutating func next(after answer: Answer) -> Verdict {
    switch answer {
    case .pending:
      forgetFailures()
      return .ask(after: interval)
    case .slowDown:
      forgetFailures()
      interval = interval + Self.slowDown
      return .ask(after: interval)
    case .denied: return .ended(.denied)
    case .expired: return .ended(.expired)
    case .unknownCode: return .ended(lostAResponse ? .answerLost : .unknownCode)
    case .failed(let failure): return next(afterFailure: failure)
    }
  }

  /// The code is still pending, so no lost response can have held the tokens.
  private mutating func forgetFailures() { (failures, unexplained, lostAResponse) = (0, 0, false) }

  private mutating func next(afterFailure failure: ExchangeFailure) -> Verdict {
    failures += 1
    switch failure {
    case .offline: return .ask(after: pause)
    case .transient(_, let retryAfter): return .ask(after: max(pause, retryAfter ?? .zero))
    case .unknownOutcome:
      lostAResponse = true
      return .ask(after: pause)
    case .unexplained where unexplained < Self.unexplainedAtMost:
      unexplained += 1
      return .ask(after: pause)
    case .untrustedServer, .unexplained, .reauthenticate, .locked, .interaction, .misconfigured, .store:
      return .ended(.failed(failure))
    }
  }

  /// Doubles with each consecutive failure, as RFC 8628 §3.5 suggests; at least `interval`.
  private var pause: Milliseconds {
    max(interval, min(Self.longestPause, interval * (Int64(1) << min(failures, 10))))
  }
}
