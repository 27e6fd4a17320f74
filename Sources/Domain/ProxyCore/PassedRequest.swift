public import AgentModel
internal import AgentCore

/// A plain request as it passes to a server without a token (docs/proxy.md, What passes): with the program's own fields, and
/// without those about the connection to this proxy. Its URL decides, and `Host` is replaced (RFC 9112 section 3.2.2).
public struct PassedRequest: Sendable {
  public let url: HTTPURL
  /// The program opens a WebSocket (RFC 6455 section 4.1).
  public let isWebSocket: Bool
  /// True for HTTP/1.1, false for HTTP/1.0.
  let isHTTP11: Bool
  private let head: RequestHead

  public init(_ head: RequestHead, to url: HTTPURL) throws(Refusal) {
    guard RequestMachine.canSend(head.method) else {
      throw Refusal(405, "methodNotForwarded", "The proxy does not forward \(head.method.uppercased()).")
    }
    isWebSocket = try WebSocketHandshake.isAsked(by: head)
    isHTTP11 = head.isHTTP11
    self.url = url
    self.head = head
  }

  /// The head on the wire.
  ///
  /// - Parameters:
  ///   - leadsToProxy: the line names the whole URL, for the next proxy.
  ///   - proxyCredentials: the value of `Proxy-Authorization` for that proxy.
  public func bytes(leadsToProxy: Bool, proxyCredentials: String?) -> [UInt8] {
    let path = url.path + (url.query.map { "?" + $0 } ?? "")
    // RFC 9112 section 6.1: a server may answer HTTP/1.1 in chunks, which a client of HTTP/1.0 does not understand.
    var text = "\(head.method) \(leadsToProxy ? url.text : path) HTTP/1.\(isHTTP11 ? 1 : 0)\r\n"
    text += "Host: \(url.hostText)\(url.port == url.scheme.defaultPort ? "" : ":\(url.port)")\r\n"
    var dropped = Self.dropped
    for value in head.values("connection") { dropped.formUnion(FieldSyntax.tokens(of: value)) }
    if isWebSocket { dropped.remove("upgrade") }
    for field in head.fields {
      let name = field.name.lowercased()
      guard !dropped.contains(name), !name.hasPrefix("proxy-") else { continue }
      text += "\(field.name): \(field.value)\r\n"
    }
    switch head.framing {
    case .none: if head.values("content-length").contains("0") { text += "Content-Length: 0\r\n" }
    case .length(let length): text += "Content-Length: \(length)\r\n"
    case .chunked: text += "Transfer-Encoding: chunked\r\n"
    }
    if let proxyCredentials { text += "Proxy-Authorization: \(proxyCredentials)\r\n" }
    // One request a connection: what follows on it might be for another server.
    text += isWebSocket ? "Connection: Upgrade\r\n\r\n" : "Connection: close\r\n\r\n"
    return Array(text.utf8)
  }

  /// Fields about the connection (RFC 9110 section 7.6.1). `Expect` is answered here.
  private static let dropped: Set<String> = [
    "connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
  ]
}
