/// One request as it was received: only the framing is decoded.
public struct HTTPRequest: Sendable {
  public var method: String
  /// The path as sent, still percent-encoded, without the query.
  public var path: String
  /// The query string after the first `?`, still encoded; empty if there is none.
  public var query: String
  public var headers: [(name: String, value: String)]
  public var body: [UInt8]
  /// The query string in place of `query`, for a listener that keeps it apart.
  public var secretQuery: WipedBytes?
  /// The authority of a request target in absolute form (RFC 9112 section 3.2.2).
  public var targetAuthority: String?

  public init(
    method: String,
    path: String,
    query: String = "",
    headers: [(name: String, value: String)] = [],
    body: [UInt8] = []
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
  }

  /// A request for `url`, either a path with a query or an absolute `http` or `https` URL, whose authority becomes
  /// the Host header. A fragment is dropped, as a browser does.
  public init(
    method: String,
    url: String,
    headers: [(name: String, value: String)] = [],
    body: [UInt8] = []
  ) {
    let target = RequestTarget(url)
    let host = target.authority.map { [(name: "Host", value: $0)] } ?? []
    self.init(method: method, path: target.path, query: target.query, headers: host + headers, body: body)
  }

  public static func get(_ url: String, headers: [(name: String, value: String)] = []) -> HTTPRequest {
    HTTPRequest(method: "GET", url: url, headers: headers)
  }

  /// The first header of that name, case-insensitive.
  public func header(_ name: String) -> String? {
    headers.first { $0.name.equalsIgnoringCase(name) }?.value
  }
}

extension HTTPRequest: CustomStringConvertible {
  // A request carries codes and tokens: the description shows its shape, never its text.
  public var description: String { "\(method) \(path) body=\(body.count)" }
}

/// The request-target, in the forms that RFC 9112 section 3.2 gives it.
struct RequestTarget {
  var authority: String?
  var path: String
  var query: String

  init(_ text: String) {
    var rest = text[...]
    if let fragment = rest.firstIndex(of: "#") { rest = rest[..<fragment] }
    for scheme in ["http://", "https://"] where rest.hasPrefix(scheme) {
      rest = rest.dropFirst(scheme.count)
      let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
      authority = String(rest[..<end])
      rest = rest[end...]
    }
    if let mark = rest.firstIndex(of: "?") {
      path = String(rest[..<mark])
      query = String(rest[rest.index(after: mark)...])
    } else {
      path = String(rest)
      query = ""
    }
    if path.isEmpty { path = "/" }
  }
}

extension String {
  /// Compares ASCII letters case-insensitively and everything else exactly.
  func equalsIgnoringCase(_ other: String) -> Bool {
    utf8.count == other.utf8.count
      && zip(utf8, other.utf8).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
  }
}

extension UInt8 {
  var lowercasedASCII: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}
