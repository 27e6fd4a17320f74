internal import AgentCore
internal import AgentModel
internal import AgentProtocol

/// What a person hears of a PIN.
extension RPCError {
  static func wrongPIN(_ account: AccountID, left: Int) -> RPCError {
    let tries = left == 1 ? "One more wrong one destroys it" : "\(left) more wrong ones destroy it"
    return .stepUpFailed(account, "wrongPIN", left: left, "The PIN is wrong. \(tries), and data that is locked by it.")
      .with { $0.remedies = [.stepUp] }
  }

  static func pinDestroyed(_ account: AccountID) -> RPCError {
    .stepUpFailed(
      account, "destroyed", left: 0,
      "The PIN was tried too often and is destroyed; data that was locked by it is gone for good. Sign in again, then set a new PIN."
    ).with { $0.remedies = [.reauthenticate] }
  }

  /// `reason` is one word for programs.
  static func stepUpFailed(_ account: AccountID, _ reason: String, left: Int, _ message: String) -> RPCError {
    RPCError(.stepUpFailed, message).with {
      $0.account = account
      $0.reason = reason
      $0.details = [("attemptsLeft", .number(Int64(left)))]
    }
  }

  static func stepUpThrottled(_ account: AccountID, _ retryAfter: Milliseconds, left: Int) -> RPCError {
    RPCError(
      .stepUpThrottled, "Several wrong PINs came one after another. This one was not tried; wait a moment."
    ).with {
      $0.account = account
      $0.retryAfter = retryAfter
      $0.details = [("attemptsLeft", .number(Int64(left)))]
    }
  }

  static func stepUpRequired(_ account: AccountID) -> RPCError {
    RPCError(.stepUpRequired, "A PIN is set, and changing or removing it takes that PIN first: `stepUp.verify`.").with {
      $0.account = account
      $0.remedies = [.stepUp]
    }
  }

  static func noPIN(_ account: AccountID) -> RPCError {
    RPCError(.notFound, "This account has no PIN. `stepUp.enroll` sets one.").with {
      $0.account = account
      $0.details = [("kind", .text("pin"))]
    }
  }

  static func signedOut(_ account: AccountID) -> RPCError {
    RPCError(.signedOut, "This account is signed out. Sign in again first; nothing was changed.").with {
      $0.account = account
      $0.remedies = [.reauthenticate]
    }
  }

  /// Signed in again, and the PIN not said yet.
  static func dataUnderPIN(_ account: AccountID?) -> RPCError {
    RPCError(.dataLocked, "This account's data is locked by its PIN since it was signed out. `stepUp.verify` opens it.")
      .with {
        $0.account = account
        $0.remedies = [.stepUp]
      }
  }
}
