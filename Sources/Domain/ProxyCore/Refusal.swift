/// An answer of the proxy itself instead of the server's: a status, a stable name for programs and a sentence for people.
/// It never holds a token, the proxy's secret, or what the client sent beyond its origin and method.
public struct Refusal: Error, Hashable, Sendable {
  /// The HTTP status.
  public var status: Int
  /// The name of the agent's error in `Schemas/errors.json`, or one of the proxy's own.
  public var name: String
  /// What happened and what to do.
  public var sentence: String
  /// The value of `Retry-After`.
  public var retryAfterSeconds: Int64?

  public init(_ status: Int, _ name: String, _ sentence: String, retryAfterSeconds: Int64? = nil) {
    self.status = status
    self.name = name
    self.sentence = sentence
    self.retryAfterSeconds = retryAfterSeconds
  }

  /// The request is not what RFC 9112 allows.
  public static func malformed(_ sentence: String, status: Int = 400) -> Refusal {
    Refusal(status, "malformedRequest", sentence)
  }
}

extension Refusal {
  /// The response on the wire.
  ///
  /// - Parameters:
  ///   - asJSON: `{"error": {"name", "message"}}` instead of the sentence.
  ///   - isHead: the request's method is HEAD, so that no body follows (RFC 9110 section 9.3.2).
  ///   - closes: the connection ends after this response.
  public func response(asJSON: Bool, isHead: Bool = false, closes: Bool) -> [UInt8] {
    let text = asJSON ? Self.json(name: name, sentence: sentence) : "lanyard: \(sentence)"
    let body = text + "\n"
    var head = "HTTP/1.1 \(status) \(StatusReason.text(status))\r\n"
    head += "Content-Type: \(asJSON ? "application/json" : "text/plain; charset=utf-8")\r\n"
    head += "Content-Length: \(body.utf8.count)\r\nCache-Control: no-store\r\nLanyard-Refusal: \(name)\r\n"
    if status == 407 { head += "Proxy-Authenticate: Basic realm=\"lanyard\"\r\n" }
    if let retryAfterSeconds { head += "Retry-After: \(retryAfterSeconds)\r\n" }
    if closes { head += "Connection: close\r\n" }
    return Array((head + "\r\n" + (isHead ? "" : body)).utf8)
  }

  private static func json(name: String, sentence: String) -> String {
    "{\"error\":{\"name\":\(quoted(name)),\"message\":\(quoted(sentence))}}"
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case _ where scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value): quoted += " "
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
