public import AgentModel

/// The head of a client's request, parsed strictly: whatever two parsers might read in two ways is refused (RFC 9112
/// section 11.2).
public struct RequestHead: Sendable {
  /// What the request line names (RFC 9112 section 3.2).
  public enum Target: Hashable, Sendable {
    /// `CONNECT`: a host and a port, as an origin of `https`.
    case tunnel(HTTPURL)
    /// An absolute URL, as a client sends it to a proxy.
    case absolute(HTTPURL)
    /// A path with its query, as a client sends it through a tunnel.
    case path(String)
  }

  /// How the end of the body is told (RFC 9112 section 6.3).
  public enum Framing: Hashable, Sendable {
    case none
    case length(Int64)
    case chunked
  }

  public let method: String
  public let target: Target
  /// The value of `Host`; nil only for HTTP/1.0.
  public let host: String?
  /// True for HTTP/1.1, false for HTTP/1.0.
  public let isHTTP11: Bool
  /// In the client's order and spelling.
  public let fields: [(name: String, value: String)]
  public let framing: Framing
  /// The client waits for `100 Continue` before it sends the body (RFC 9110 section 10.1.1).
  public let expectsContinue: Bool
  /// The client keeps the connection for another request (RFC 9112 section 9.3).
  public let keepsAlive: Bool

  /// The value of a field that occurs once; nil also if it occurs twice.
  public func value(_ name: String) -> String? {
    let values = values(name)
    return values.count == 1 ? values[0] : nil
  }

  /// The values of a field in their order.
  public func values(_ name: String) -> [String] {
    fields.filter { $0.name.lowercased() == name }.map(\.value)
  }

  /// True if an answer of the proxy itself is JSON: the client names a type of JSON.
  public var acceptsJSON: Bool {
    values("accept").contains { accept in
      FieldSyntax.tokens(of: accept).contains { $0.hasPrefix("application/json") || $0.contains("+json") }
    }
  }
}

extension RequestHead {
  static let mostFields = 200

  /// Parses a head that ends in an empty line.
  init(_ bytes: ArraySlice<UInt8>) throws(Refusal) {
    var lines = try Self.lines(bytes)
    guard !lines.isEmpty else { throw .malformed("The request has no request line.") }
    let words = lines.removeFirst().split(separator: 0x20, omittingEmptySubsequences: false)
    guard lines.count <= Self.mostFields else {
      throw .malformed("The request has more than \(Self.mostFields) header fields.", status: 431)
    }
    guard words.count == 3, !words[0].isEmpty, words[0].allSatisfy(FieldSyntax.isToken), !words[1].isEmpty,
      words[1].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else { throw .malformed("The request line is malformed.") }
    switch String(decoding: words[2], as: UTF8.self) {
    case "HTTP/1.1": isHTTP11 = true
    case "HTTP/1.0": isHTTP11 = false
    case let other where other.hasPrefix("HTTP/"):
      throw .malformed("This proxy speaks HTTP/1.1 and HTTP/1.0.", status: 505)
    default: throw .malformed("The request line is malformed.")
    }
    method = String(decoding: words[0], as: UTF8.self)
    var fields: [(name: String, value: String)] = []
    for line in lines { fields.append(try Self.field(line)) }
    self.fields = fields
    let options = fields.filter { $0.name.lowercased() == "connection" }.flatMap { FieldSyntax.tokens(of: $0.value) }
    keepsAlive = isHTTP11 ? !options.contains("close") : options.contains("keep-alive")
    let hosts = fields.filter { $0.name.lowercased() == "host" }
    guard hosts.count == 1 || hosts.isEmpty && !isHTTP11 else {
      throw .malformed(hosts.isEmpty ? "The request has no Host field." : "The request has two Host fields.")
    }
    host = hosts.first?.value
    framing = try Self.framing(of: fields, isHTTP11: isHTTP11)
    target = try Self.target(String(decoding: words[1], as: UTF8.self), method: method)
    switch fields.filter({ $0.name.lowercased() == "expect" }).map({ $0.value.lowercased() }) {
    case []: expectsContinue = false
    // RFC 9110 section 10.1.1: a server ignores it in a request of HTTP/1.0.
    case ["100-continue"]: expectsContinue = isHTTP11 && framing != .none
    default: throw .malformed("The only expectation that the proxy knows is 100-continue.", status: 417)
    }
  }

  /// A line ends in CR LF, and neither byte occurs elsewhere.
  static func lines(_ bytes: ArraySlice<UInt8>) throws(Refusal) -> [ArraySlice<UInt8>] {
    var lines: [ArraySlice<UInt8>] = []
    var start = bytes.startIndex
    for index in bytes.indices where bytes[index] == 0x0A {
      guard index > start, bytes[index - 1] == 0x0D else { throw .malformed("A line of the head ends in a bare LF.") }
      if index - 1 > start { lines.append(bytes[start..<(index - 1)]) }
      start = index + 1
    }
    return lines
  }

  static func field(_ line: ArraySlice<UInt8>) throws(Refusal) -> (name: String, value: String) {
    // A folded line and a space before the colon end here, too.
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
      line[..<colon].allSatisfy(FieldSyntax.isToken)
    else { throw .malformed("The name of a header field is malformed, or a header field is folded.") }
    var value = line[(colon + 1)...]
    while let first = value.first, FieldSyntax.isBlank(first) { value.removeFirst() }
    while let last = value.last, FieldSyntax.isBlank(last) { value.removeLast() }
    guard value.allSatisfy(FieldSyntax.isValue), String(validating: value, as: UTF8.self) != nil else {
      throw .malformed("The value of a header field has control characters, or is not UTF-8.")
    }
    return (String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
  }

  /// RFC 9112 section 6.1: a length beside a transfer coding is an attempt to smuggle a request.
  private static func framing(
    of fields: [(name: String, value: String)], isHTTP11: Bool
  ) throws(Refusal) -> Framing {
    let codings = fields.filter { $0.name.lowercased() == "transfer-encoding" }.map(\.value)
    let lengths = fields.filter { $0.name.lowercased() == "content-length" }.map(\.value)
    guard codings.isEmpty || lengths.isEmpty else {
      throw .malformed("The request has both Content-Length and Transfer-Encoding.")
    }
    if !codings.isEmpty {
      guard isHTTP11 else { throw .malformed("A request of HTTP/1.0 has Transfer-Encoding.") }
      guard codings.count == 1, codings[0].lowercased() == "chunked" else {
        throw .malformed("The only transfer coding that the proxy knows is chunked.", status: 501)
      }
      return .chunked
    }
    guard let length = lengths.first else { return .none }
    // At most 18 digits, so that it fits `Int64`.
    guard lengths.count == 1, (1...18).contains(length.utf8.count),
      length.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(length)
    else { throw .malformed("Content-Length is given twice, or is not a number.") }
    return count == 0 ? .none : .length(count)
  }

  private static func target(_ text: String, method: String) throws(Refusal) -> Target {
    if method == "CONNECT" {
      // RFC 9112 section 3.2.3: host and port, and nothing else.
      let hasPort = text.utf8.reversed().prefix { (0x30...0x39).contains($0) }.count > 0
      guard hasPort, !text.utf8.contains(where: { "/?#@%".utf8.contains($0) }), let url = HTTPURL("https://" + text),
        url.path == "/", url.query == nil, text.utf8.last != UInt8(ascii: "]"), text.utf8.contains(UInt8(ascii: ":"))
      else { throw .malformed("CONNECT takes HOST:PORT.") }
      return .tunnel(url)
    }
    if text.hasPrefix("/") { return .path(text) }
    guard let url = HTTPURL(text) else {
      throw .malformed("The URL of the request is malformed, or names a user or a fragment.")
    }
    return .absolute(url)
  }
}
