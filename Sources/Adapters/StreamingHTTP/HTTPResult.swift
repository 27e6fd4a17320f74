public import AgentModel

/// How a request ended.
public enum HTTPResult: Hashable, Sendable {
  /// The response was received to its end.
  case complete
  /// No byte of the request left this machine.
  case notSent(NotSent)
  /// The request may have arrived, and its response is missing or cut. If the head came, `onHead` was called.
  case lost(Lost)
  /// `onHead` or `onBody` returned false.
  case stopped

  /// Why nothing was sent.
  public enum NotSent: Hashable, Sendable {
    case notConnected(ConnectFailure)
    case cancelled
    /// The URL, the method or a field is not allowed.
    case invalid
    /// The server's certificate was refused.
    case untrusted(TrustFailure)
    /// libcurl is missing or too old.
    case noLibrary
  }

  /// Why the response is missing or cut.
  public enum Lost: Hashable, Sendable {
    case reset, timedOut, malformed, cancelled
    /// The head is larger than `ReceivedHead.maximumBytes`.
    case tooLarge
    /// `BodyStream.read` failed.
    case body
  }
}
