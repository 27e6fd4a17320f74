/// What a handler wants done with its connection: an answer, or one of the ways in which answers go wrong.
///
/// The ways are values, so that a simulation can perform the same reply in virtual time.
public enum HTTPReply: Sendable {
  case respond(HTTPResponse, delayMilliseconds: Int = 0)
  /// The connection ends without a byte of an answer: by FIN, or by RST where `reset` is true.
  case drop(delayMilliseconds: Int = 0, reset: Bool = false)
  /// No answer, ever; the connection stays open until the peer goes away or the listener stops.
  case hang
  /// The head announces the whole body, `bodyBytes` of it are sent, then the connection ends.
  case truncate(HTTPResponse, bodyBytes: Int)
  /// The head tells no length and the body is sent over and over, until the peer goes away or the listener stops.
  case endlessBody(HTTPResponse)
  /// These bytes and nothing else: for answers that are not HTTP.
  case raw([UInt8])
}

extension HTTPReply {
  /// The response of a reply that has one in full.
  public var response: HTTPResponse? {
    if case .respond(let response, _) = self { response } else { nil }
  }
}
