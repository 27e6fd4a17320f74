public import AgentModel

/// How often a device code is asked about, and what ends the asking (RFC 8628 §3.5).
public struct DevicePolling: Hashable, Sendable {
  /// The least time between two questions; `slow_down` lengthens it for good.
  public private(set) var interval: Milliseconds
  /// Questions in a row that brought no answer.
  private var failures = 0
  /// Refusals in a row that nobody understands.
  private var unexplained = 0
  /// An answer was lost: it may have been the one with the tokens, which are given once.
  private var lostAnAnswer = false

  /// RFC 8628 §3.2: where the provider names none.
  public static let defaultInterval = Milliseconds.seconds(5)
  /// RFC 8628 §3.5.
  public static let slowDown = Milliseconds.seconds(5)
  /// A person is waiting: once the way is open again, they should not wait much longer.
  public static let longestPause = Milliseconds.seconds(30)
  /// As with refreshes: what nobody understands is taken for a passing trouble twice.
  private static let unexplainedAtMost = 2

  public init(interval: Milliseconds) { self.interval = interval }

  /// What the token endpoint said of the code, other than tokens.
  public enum Answer: Hashable, Sendable {
    case pending, slowDown, denied, expired
    /// The code is known no more: used, expired and forgotten, or never issued.
    case unknownCode
    case failed(ExchangeFailure)

    /// By the `error` of the answer, whatever the status beside it; nil if it says nothing about the code.
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

  public enum Verdict: Hashable, Sendable {
    case ask(after: Milliseconds)
    case over(End)
  }

  public enum End: Hashable, Sendable {
    case denied, expired, unknownCode
    /// The tokens were given in an answer that never came.
    case answerLost
    case failed(ExchangeFailure)
  }

  public mutating func heard(_ answer: Answer) -> Verdict {
    switch answer {
    case .pending:
      forgetFailures()
      return .ask(after: interval)
    case .slowDown:
      forgetFailures()
      interval = interval + Self.slowDown
      return .ask(after: interval)
    case .denied: return .over(.denied)
    case .expired: return .over(.expired)
    case .unknownCode: return .over(lostAnAnswer ? .answerLost : .unknownCode)
    case .failed(let failure): return heard(of: failure)
    }
  }

  /// The code still waits for the person: nothing was given, whatever was lost before.
  private mutating func forgetFailures() { (failures, unexplained, lostAnAnswer) = (0, 0, false) }

  private mutating func heard(of failure: ExchangeFailure) -> Verdict {
    failures += 1
    switch failure {
    case .offline: return .ask(after: pause)
    case .transient(_, let retryAfter): return .ask(after: max(pause, retryAfter ?? .zero))
    case .unknownOutcome:
      lostAnAnswer = true
      return .ask(after: pause)
    case .unexplained where unexplained < Self.unexplainedAtMost:
      unexplained += 1
      return .ask(after: pause)
    case .untrustedServer, .unexplained, .reauthenticate, .locked, .interaction, .misconfigured, .store:
      return .over(.failed(failure))
    }
  }

  /// Doubled with each failure in a row, as RFC 8628 §3.5 proposes; never more often than the provider wants.
  private var pause: Milliseconds {
    max(interval, min(Self.longestPause, interval * (Int64(1) << min(failures, 10))))
  }
}
