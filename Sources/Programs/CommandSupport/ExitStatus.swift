/// The exit codes of `lanyard`, fixed by the contract (docs/protocol.md, Programs).
public enum ExitStatus: Int32, Sendable {
  case success = 0
  case other = 1
  case usage = 2
  case noAgent = 3
  case signInAgain = 4
  case providerUnreachable = 5
  case denied = 6
  case stepUpNeeded = 7
  case locked = 8
  case interrupted = 130

  /// The exit code for an error of the contract, by its code and its reason.
  public init(errorCode: Int64, reason: String? = nil) {
    switch errorCode {
    // A pin fits no better at the next try.
    case 3004 where reason == "pinMismatch": self = .other
    case 1001, 1008, 2008: self = .locked
    case 1002, 1005: self = .noAgent
    case 1007, 4001: self = .denied
    case 2003, 2004, 2005, 2007: self = .signInAgain
    // A client that the provider refuses (3003) is refused tomorrow, too.
    case 3001, 3002, 3004: self = .providerUnreachable
    case 4002...4004: self = .stepUpNeeded
    case -32602: self = .usage
    default: self = .other
    }
  }
}
