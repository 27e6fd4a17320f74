internal import AgentModel
internal import AgentPorts
internal import CurlTransfers

extension TransferReport {
  /// Why nothing of the request was sent.
  var beforeSending: HTTPOutcome {
    switch unsent {
    case .notConnected(let failure): .notConnected(failure)
    case .untrusted(let failure): .untrusted(failure)
    }
  }

  /// Why the outcome is unknown although something may have been sent.
  var afterSending: HTTPOutcome.LostResponse {
    switch loss {
    case .timedOut: .timedOut
    case .reset: .reset
    case .tooLarge: .tooLarge
    case .malformed: .malformed
    }
  }
}
