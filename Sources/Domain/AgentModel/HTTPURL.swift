/// An absolute `http` or `https` URL, parsed strictly (RFC 3986, RFC 9110 §4.2) and kept in one normal form, so that
/// the URL that is checked is the URL that is requested.
///
/// Parsing refuses user information (it disguises the host and leaks into logs), fragments (RFC 6749 §3.1 forbids them
/// on endpoints), alternative spellings of an IPv4 address (`127.1`, `0x7f000001`), and spellings of this machine that
/// `isLoopback` would not know (`0.0.0.0`, `::ffff:127.0.0.1`, `localhost.`).
public struct HTTPURL: Hashable, Sendable {
  /// The URL scheme.
  public enum Scheme: String, Sendable {
    case http, https
    /// The port of the scheme (RFC 9110 §4.2.1 and §4.2.2).
    public var defaultPort: UInt16 { self == .http ? 80 : 443 }
  }

  /// `http` or `https`.
  public let scheme: Scheme
  /// The host in lower case. An IPv6 address has no brackets and is in the form of RFC 5952.
  public let host: String
  /// The port, the scheme's default if the URL names none.
  public let port: UInt16
  /// The path: starts with `/`, has no dot segments, and keeps escapes as written.
  public let path: String
  /// The text after `?`, escapes as written; nil if there is no `?`.
  public let query: String?
  /// The origin (RFC 6454 §6.2): scheme, host and, unless it is the default, the port, such as `https://idp.example`.
  public let origin: String

  /// Upper bound for the length of a URL in bytes. RFC 9110 §4.1 recommends support for at least 8000.
  public static let maximumBytes = 8192

  /// Parses an absolute URL; nil if it is malformed, refused (see above) or longer than `maximumBytes`.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count <= Self.maximumBytes, bytes.allSatisfy(URLSyntax.isURLByte) else { return nil }
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      let scheme = Scheme(rawValue: String(decoding: bytes[..<colon], as: UTF8.self).lowercased()),
      bytes[colon...].starts(with: "://".utf8)
    else { return nil }
    let rest = bytes[(colon + 3)...]
    let authorityEnd = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
    guard let (host, port) = URLSyntax.authority(rest[..<authorityEnd]) else { return nil }
    let target = rest[authorityEnd...]
    let pathEnd = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
    guard let path = URLSyntax.path(target[..<pathEnd]) else { return nil }
    let query = target[pathEnd...].dropFirst()
    guard URLSyntax.hasWholeEscapes(query) else { return nil }
    self.scheme = scheme
    self.host = host
    self.port = port ?? scheme.defaultPort
    self.path = path
    self.query = pathEnd == target.endIndex ? nil : String(decoding: query, as: UTF8.self)
    origin =
      scheme.rawValue + "://" + Self.hostText(host) + (self.port == scheme.defaultPort ? "" : ":" + String(self.port))
  }

  /// True for `127.0.0.0/8`, `::1` and `localhost`. Requests to them never leave this machine, so `http` is allowed.
  public var isLoopback: Bool {
    host == "localhost" || host == "::1" || host.hasPrefix("127.") && URLSyntax.ipv4(Array(host.utf8)) != nil
  }

  /// The host as written in a URL: an IPv6 address in brackets.
  public var hostText: String { Self.hostText(host) }

  private static func hostText(_ host: String) -> String {
    host.utf8.contains(UInt8(ascii: ":")) ? "[" + host + "]" : host
  }

  /// The URL in normal form.
  public var text: String { origin + path + (query.map { "?" + $0 } ?? "") }

  /// The URL without escapes of unreserved characters, and with the hexadecimal digits of the others in upper case: two
  /// spellings of one URL are the same text (RFC 3986 §6.2.2). For comparison only.
  public var comparableText: String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      // Two hexadecimal digits follow each `%`.
      if byte == UInt8(ascii: "%"), let escaped = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
        PercentCoding.encode(CollectionOfOne(escaped)) { bytes.append($0) }
        rest.removeFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The URL with parameters appended to its own query, which is kept (RFC 6749 §3.1).
  public func adding(_ items: some Sequence<(String, String)>) -> String {
    let more = HTTPQuery.encode(items)
    guard !more.isEmpty else { return text }
    guard let query else { return text + "?" + more }
    return text + (query.isEmpty ? "" : "&") + more
  }
}
