internal import AgentModel

/// The head of a server's response as the program gets it.
public struct ResponseHead: Sendable {
  public let status: Int
  /// Without cookies, fields about the connection, and what belongs to the agent.
  public let fields: [(name: String, value: String)]
  /// `Content-Length`, if the body is as long; nil if the server did not say.
  public let length: Int64?

  /// Nil for fields that this proxy can't pass on: they could be read in two ways, or tell of a coded body.
  public init?(status: Int, fields: [(name: String, value: String)]) {
    guard (200...599).contains(status), fields.count <= RequestHead.mostFields else { return nil }
    var dropped = Self.dropped
    for field in fields where field.name.lowercased() == "connection" {
      dropped.formUnion(FieldSyntax.tokens(of: field.value))
    }
    var lengths: Set<String> = []
    var isChunked = false
    var kept: [(name: String, value: String)] = []
    for (name, value) in fields {
      guard !name.isEmpty, name.utf8.allSatisfy(FieldSyntax.isToken), value.utf8.allSatisfy(FieldSyntax.isValue) else {
        return nil
      }
      let lowercased = name.lowercased()
      if lowercased == "content-length" { lengths.insert(value) }
      if lowercased == "transfer-encoding" {
        // Not asked for (RFC 9112 section 6.1), and a token could not be found in it.
        guard FieldSyntax.tokens(of: value).allSatisfy({ $0 == "chunked" || $0 == "identity" }) else { return nil }
        isChunked = true
      }
      if !dropped.contains(lowercased), !lowercased.hasPrefix("proxy-") { kept.append((name, value)) }
    }
    guard lengths.count < 2 else { return nil }
    self.status = status
    self.fields = kept
    length = isChunked ? nil : lengths.first.flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
  }

  /// A cookie would be a credential of the account in the program's hands, and `DPoP-Nonce` and `Authentication-Info` answer
  /// what the proxy sent. `Alt-Svc` would lead the client past the proxy.
  static let dropped: Set<String> = [
    "alt-svc", "authentication-info", "connection", "content-length", "dpop-nonce", "keep-alive", "set-cookie",
    "set-cookie2",
    "te", "trailer", "transfer-encoding", "upgrade",
  ]

  /// RFC 9110 section 6.4.1: these have no body.
  public func hasBody(to method: String) -> Bool { method != "HEAD" && status != 204 && status != 304 }

  /// True if the body is compressed, so that a repeated token in it would not be found.
  public var isCoded: Bool {
    fields.contains { $0.name.lowercased() == "content-encoding" && FieldSyntax.tokens(of: $0.value) != ["identity"] }
  }

  /// How the client is told where the body ends.
  public enum Framing: Hashable, Sendable {
    case none, length(Int64), chunked
    /// The end of the connection is the end of the body: for a client of HTTP/1.0.
    case untilClose
  }

  public func framing(to request: RequestHead) -> Framing {
    guard hasBody(to: request.method) else { return .none }
    if let length { return .length(length) }
    return request.isHTTP11 ? .chunked : .untilClose
  }

  /// The head on the wire.
  public func bytes(to request: RequestHead, closes: Bool) -> [UInt8] {
    var head = "HTTP/1.1 \(status) \(StatusReason.text(status))\r\n"
    for field in fields { head += "\(field.name): \(field.value)\r\n" }
    switch framing(to: request) {
    case .length(let length): head += "Content-Length: \(length)\r\n"
    case .chunked: head += "Transfer-Encoding: chunked\r\n"
    // HEAD and 304 tell the length of the body that they leave out.
    case .none: if status != 204, let length { head += "Content-Length: \(length)\r\n" }
    case .untilClose: break
    }
    head += closes ? "Connection: close\r\n" : request.isHTTP11 ? "" : "Connection: keep-alive\r\n"
    return Array((head + "\r\n").utf8)
  }
}
