public import AgentCore
public import AgentModel

/// A request as it goes on to the server: the URL that is judged is the URL that is sent.
public struct ForwardedRequest: Sendable {
  public let method: String
  public let url: HTTPURL
  /// The program opens a WebSocket (RFC 6455 section 4.1).
  public let isWebSocket: Bool
  private let head: RequestHead

  public var hasBody: Bool { head.framing != .none }

  /// What the agent is asked about: a WebSocket is no read, though its handshake is a GET.
  public var judgedMethod: String { isWebSocket ? WebSocketMethod.name : method }

  /// - Parameters:
  ///   - tunnel: the origin of the CONNECT that this request came through; nil for one that named its URL to the proxy.
  ///   - serverName: the host that the client named in its TLS handshake.
  ///   - secretPaths: how accounts of the proxy have a secret before the path.
  public init(
    _ head: RequestHead, tunnel: HTTPURL?, serverName: String?, secretPaths: [SecretTemplate] = []
  ) throws(Refusal) {
    url = Placeholder.removed(from: try Self.url(of: head, tunnel: tunnel), paths: secretPaths)
    // RFC 9112 section 3.2.2: beside an absolute URL `Host` does not count, and is replaced.
    if case .path = head.target { try Self.check(host: head.host, against: url) }
    if let serverName, serverName.lowercased() != url.host {
      throw Refusal(
        421, "misdirectedRequest",
        "The TLS handshake named \(Self.shown(serverName)), and the request goes to \(url.hostText).")
    }
    guard RequestMachine.canSend(head.method) else {
      throw Refusal(405, "methodNotForwarded", "The proxy does not forward \(head.method.uppercased()).")
    }
    guard head.method != "HEAD" || head.framing == .none else {
      // RFC 9110 section 9.3.2: it means nothing, and the client that waits for the answer would take it for a GET's.
      throw .malformed("A HEAD request can't have a body.")
    }
    isWebSocket = try WebSocketHandshake.isAsked(by: head)
    guard head.values("content-type").count < 2 else {
      throw .malformed("The request has two Content-Type fields.")
    }
    method = head.method
    self.head = head
  }

  /// The fields that go on: no credential of the program is left in them. The access token is not among them.
  ///
  /// - Throws: also for a URL that has a credential, or turns the request into another.
  public func fields(under names: RequestNames) throws(Refusal) -> ForwardedFields {
    if let told = names.parameter(in: url) { throw .parameter(told.name, told.meaning) }
    return try ForwardedFields(head, under: names)
  }

  /// The fields of the handshake of a WebSocket, which are not among `fields`.
  public func handshakeFields(under names: RequestNames) -> [(name: String, value: String)] {
    WebSocketHandshake.fields(of: head, under: names)
  }

  /// Reads the names of the body's parameters; nil if the body is no form.
  ///
  /// - Parameter fields: those that go on. The program may have named its `Content-Type` in `Connection`.
  public func form(sentWith fields: ForwardedFields, under names: RequestNames) throws(Refusal) -> FormNames? {
    guard head.framing != .none else { return nil }
    do throws(FormNames.Refusal) {
      return try FormNames(fields.all, under: names)
    } catch {
      throw Refusal(error)
    }
  }

  private static func url(of head: RequestHead, tunnel: HTTPURL?) throws(Refusal) -> HTTPURL {
    switch (head.target, tunnel) {
    case (.path(let path), let tunnel?):
      guard let url = HTTPURL(tunnel.origin + path) else {
        throw .malformed("The path of the request is malformed: some of its characters must be escaped.")
      }
      return url
    case (.absolute(let url), nil):
      guard url.scheme == .http else {
        throw .malformed("A URL with https goes through a tunnel: CONNECT \(url.hostText):\(url.port).")
      }
      return url
    case (.absolute(let url), let tunnel?):
      guard url.origin == tunnel.origin else {
        throw Refusal(421, "misdirectedRequest", "The URL is not at \(tunnel.origin), to which this tunnel leads.")
      }
      return url
    case (.path, nil): throw .malformed("This is a proxy: the request line names a whole URL.")
    case (.tunnel, _): throw .malformed("The proxy opens no tunnel in a tunnel.")
    }
  }

  /// In a tunnel the path has no other host than that of the tunnel.
  private static func check(host: String?, against url: HTTPURL) throws(Refusal) {
    guard let host else { return }
    guard let named = HTTPURL(url.scheme.rawValue + "://" + host), named.path == "/", named.query == nil,
      !host.utf8.contains(UInt8(ascii: "/")), !host.utf8.contains(UInt8(ascii: "?"))
    else { throw .malformed("The Host field is malformed.") }
    guard named.origin == url.origin else {
      throw Refusal(
        421, "misdirectedRequest", "The Host field names \(shown(host)), and the request goes to \(url.origin).")
    }
  }

  private static func shown(_ text: String) -> String { String(text.prefix(253)) }
}
