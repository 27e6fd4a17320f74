internal import AgentCore
internal import AgentModel
internal import AgentProtocol

/// What a person hears of a PIN, and of any other proof by its own name.
extension AgentFailure {
  static func wrong(_ account: AccountID, _ method: StepUpMethod, left: Int) -> AgentFailure {
    let tries = left == 1 ? "One more wrong one destroys it" : "\(left) more wrong ones destroy it"
    return .stepUpFailed(
      account, "wrong\(method.noun)", left: left,
      "The \(method.noun) is wrong. \(tries), and data that is locked by it."
    ).with { $0.remedies = [.stepUp] }
  }

  static func destroyed(_ account: AccountID, _ method: StepUpMethod) -> AgentFailure {
    .stepUpFailed(
      account, "destroyed", left: 0,
      "The \(method.noun) was tried too often and is destroyed; data that was locked by it is gone for good. Sign in again, then set a new \(method.noun)."
    ).with { $0.remedies = [.reauthenticate] }
  }

  /// Neither right nor wrong.
  static func stepUpUnavailable(_ account: AccountID, _ method: StepUpMethod) -> AgentFailure {
    AgentFailure(.storeUnavailable, "There was not enough memory to make a key from the \(method.noun). Try again.")
      .with {
        $0.account = account
      }
  }

  /// `reason` is one word for programs.
  static func stepUpFailed(_ account: AccountID, _ reason: String, left: Int, _ message: String) -> AgentFailure {
    AgentFailure(.stepUpFailed, message).with {
      $0.account = account
      $0.reason = reason
      $0.details = [("attemptsLeft", .number(Int64(left)))]
    }
  }

  static func stepUpThrottled(
    _ account: AccountID, _ method: StepUpMethod, _ retryAfter: Milliseconds, left: Int
  ) -> AgentFailure {
    AgentFailure(
      .stepUpThrottled, "Several wrong \(method.noun)s came one after another. This one was not tried; wait a moment."
    ).with {
      $0.account = account
      $0.retryAfter = retryAfter
      $0.details = [("attemptsLeft", .number(Int64(left)))]
    }
  }

  static func stepUpRequired(_ account: AccountID, _ method: StepUpMethod) -> AgentFailure {
    AgentFailure(
      .stepUpRequired, "A \(method.noun) is set, and changing or removing it takes that one first: `stepUp.verify`."
    ).with {
      $0.account = account
      $0.remedies = [.stepUp]
    }
  }

  static func notEnrolled(_ account: AccountID, _ method: StepUpMethod) -> AgentFailure {
    AgentFailure(.notFound, "This account has no \(method.noun). `stepUp.enroll` sets one.").with {
      $0.account = account
      $0.details = [("kind", .text(method.rawValue))]
    }
  }

  static func signedOut(_ account: AccountID) -> AgentFailure {
    AgentFailure(.signedOut, "This account is signed out. Sign in again first; nothing was changed.").with {
      $0.account = account
      $0.remedies = [.reauthenticate]
    }
  }

  /// Signed in again, and the PIN not said yet.
  static func dataUnderPIN(_ account: AccountID?) -> AgentFailure {
    AgentFailure(
      .dataLocked, "This account's data is locked by its PIN since it was signed out. `stepUp.verify` opens it."
    )
    .with {
      $0.account = account
      $0.remedies = [.stepUp]
    }
  }
}
