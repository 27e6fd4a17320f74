internal import AgentModel
internal import CurlTransfers

extension TransferReport {
  /// Why nothing of the request was sent.
  var notSent: HTTPResult.NotSent {
    switch unsent {
    case .notConnected(.invalidURL): .invalid
    case .notConnected(let failure): .notConnected(failure)
    case .untrusted(let failure): .untrusted(failure)
    }
  }

  /// Why the response is missing.
  var lost: HTTPResult.Lost {
    switch loss {
    case .timedOut: .timedOut
    case .reset: .reset
    case .tooLarge: .tooLarge
    case .malformed: .malformed
    }
  }
}
