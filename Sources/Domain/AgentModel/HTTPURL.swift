/// An `http` or `https` URL, taken apart strictly (RFC 3986, RFC 9110 §4.2) and put in one normal form: what is
/// checked here is what is sent.
///
/// Refused: user information (it hides the host from a reader and leaks in logs), fragments (they are not sent; RFC
/// 6749 §3.1 forbids them on endpoints), and every second spelling of an address (`127.1`, `0x7f000001`).
public struct HTTPURL: Hashable, Sendable {
  public enum Scheme: String, Sendable {
    case http, https
    /// RFC 9110 §4.2.1 and §4.2.2.
    public var defaultPort: UInt16 { self == .http ? 80 : 443 }
  }

  public let scheme: Scheme
  /// In lower case; an IPv6 address without its brackets, in the form of RFC 5952.
  public let host: String
  public let port: UInt16
  /// Begins with `/`, has no dot segments, escapes as they came.
  public let path: String
  /// What stood after the `?`, escapes as they came; nil if there was none.
  public let query: String?

  /// Longer ones are refused: RFC 9110 §4.1 asks for 8000 octets at least.
  public static let maximumBytes = 8192

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
  }

  /// `127.0.0.0/8`, `::1` or `localhost`: what never leaves this machine, and where `http` is allowed.
  public var isLoopback: Bool {
    host == "localhost" || host == "::1" || host.hasPrefix("127.") && URLSyntax.ipv4(Array(host.utf8)) != nil
  }

  /// Host as it stands in a URL, with the brackets of an IPv6 address.
  public var hostText: String { host.contains(":") ? "[" + host + "]" : host }

  /// Scheme, host and, unless it is the scheme's own, port (RFC 6454 §6.2): `https://idp.example`.
  public var origin: String {
    scheme.rawValue + "://" + hostText + (port == scheme.defaultPort ? "" : ":" + String(port))
  }

  /// The whole URL in normal form.
  public var text: String { origin + path + (query.map { "?" + $0 } ?? "") }

  /// This URL with more parameters after those that it has (RFC 6749 §3.1: an endpoint's own query is kept).
  public func adding(_ items: some Sequence<(String, String)>) -> String {
    let more = HTTPQuery.encode(items)
    guard !more.isEmpty else { return text }
    guard let query else { return text + "?" + more }
    return text + (query.isEmpty ? "" : "&") + more
  }
}
