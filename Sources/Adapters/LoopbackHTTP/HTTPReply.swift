/// A handler's reply: a response, or one of the ways in which a response can fail.
///
/// These are values, so that a simulation can perform the same reply in virtual time.
public enum HTTPReply: Sendable {
  case respond(HTTPResponse, delayMilliseconds: Int = 0)
  /// The connection ends without a byte of a response: by FIN, or by RST if `reset` is true.
  case drop(delayMilliseconds: Int = 0, reset: Bool = false)
  /// No response; the connection stays open until the peer closes it or the listener stops.
  case hang
  /// The head announces the whole body, but only `bodyBytes` of it are sent before the connection ends.
  case truncate(HTTPResponse, bodyBytes: Int)
  /// The head has no length and the body is repeated until the peer closes or the listener stops.
  case endlessBody(HTTPResponse)
  /// These bytes and nothing else: for responses that are not HTTP.
  case raw([UInt8])
  /// The head has no length, and the closure sends the body piece by piece on the connection's own thread. The connection ends
  /// when it returns.
  case stream(HTTPResponse, @Sendable (borrowing HTTPStream) -> Void)
}

extension HTTPReply {
  /// The response of a reply that sends one completely.
  public var response: HTTPResponse? {
    if case .respond(let response, _) = self { response } else { nil }
  }
}
