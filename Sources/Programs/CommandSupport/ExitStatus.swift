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
  /// As a shell ends for a command that can't be run, and for one that it does not find.
  case commandNotRun = 126
  case commandNotFound = 127
  case interrupted = 130

  /// The exit code for an error of the contract.
  ///
  /// - Parameter mayPass: the same command may succeed later, and can have had no effect now.
  init(errorCode: Int64, mayPass: Bool) {
    switch errorCode {
    case 1006 where mayPass: self = .providerUnreachable
    case 1001, 1008, 2008: self = .locked
    case 1002, 1005: self = .noAgent
    case 1007, 4001: self = .denied
    case 2003, 2004, 2005, 2007: self = .signInAgain
    // 3003 (the provider refuses the client) and 3004 (a certificate or key does not fit) end with 1: another try fails
    // again, so a loop that waits for the network must end there.
    case 3001, 3002: self = .providerUnreachable
    case 4002...4004: self = .stepUpNeeded
    case -32602: self = .usage
    default: self = .other
    }
  }
}
