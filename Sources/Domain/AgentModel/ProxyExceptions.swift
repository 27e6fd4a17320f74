/// Servers that are reached without a proxy, as `no_proxy` names them: read as curl and Go read it, and where they differ,
/// what one of them excepts is excepted.
///
/// | pattern | excepts |
/// |---|---|
/// | `*` | every server |
/// | `corp.example` or `.corp.example` | that host and all below it |
/// | `*.corp.example` | all below it |
/// | `192.0.2.1`, `2001:db8::1`, `[2001:db8::1]` | that address |
/// | `192.0.2.0/24`, `2001:db8::/32` | the addresses of that block |
///
/// Each may end with a port, which alone is excepted then; an address of IPv6 has brackets before it. An address is compared
/// with an address in the URL: no name is looked up.
public struct ProxyExceptions: Hashable, Sendable {
  private enum Hosts: Hashable {
    case all
    case host(String)
    case below(String)
    case block(address: [UInt8], bits: Int)
  }

  private struct Pattern: Hashable {
    var hosts: Hosts
    var port: UInt16?
  }

  private let patterns: [Pattern]

  /// - Parameter text: patterns with commas or blanks between. What is no pattern excepts nothing.
  public init(_ text: some Sequence<String>) {
    patterns = text.flatMap { $0.utf8.split { $0 == UInt8(ascii: ",") || $0 == 0x20 || $0 == 0x09 } }
      .compactMap { Self.pattern(String(decoding: Array($0), as: UTF8.self).lowercased()) }
  }

  /// True if the server of the URL is reached without the proxy.
  public func cover(_ url: HTTPURL) -> Bool {
    patterns.contains { pattern in
      guard pattern.port == nil || pattern.port == url.port else { return false }
      return switch pattern.hosts {
      case .all: true
      case .host(let name): url.host == name || url.host.hasSuffix("." + name)
      case .below(let name): url.host.hasSuffix("." + name)
      case .block(let address, let bits): Self.address(url.host).map { Self.agree($0, address, bits) } ?? false
      }
    }
  }

  private static func pattern(_ text: String) -> Pattern? {
    if let hosts = hosts(text) { return Pattern(hosts: hosts) }
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0,
      let hosts = hosts(String(text[..<colon]), isBeforePort: true)
    else { return nil }
    return Pattern(hosts: hosts, port: port)
  }

  private static func hosts(_ text: String, isBeforePort: Bool = false) -> Hosts? {
    if text == "*" { return .all }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    if let address = address(parts[0], needsBrackets: isBeforePort) {
      guard parts.count == 2 else { return parts.count == 1 ? .block(address: address, bits: address.count * 8) : nil }
      guard parts[1].utf8.allSatisfy(URLSyntax.isDigit), let bits = Int(parts[1]), bits <= address.count * 8 else {
        return nil
      }
      return .block(address: address, bits: bits)
    }
    let isBelow = text.hasPrefix("*.")
    var name = text.drop { isBelow && $0 == "*" }
    if name.hasPrefix(".") { name.removeFirst() }
    // A name that ends with the root of all names is the same name.
    if name.hasSuffix(".") { name.removeLast() }
    guard let url = HTTPURL("https://\(name)/"), url.host == name, address(url.host) == nil else { return nil }
    return isBelow ? .below(url.host) : .host(url.host)
  }

  /// The bytes of an address. One of IPv6 may have brackets, and needs them before a port.
  private static func address(_ text: String, needsBrackets: Bool = false) -> [UInt8]? {
    if let four = URLSyntax.ipv4(Array(text.utf8)) { return four }
    let hasBrackets = text.hasPrefix("[") && text.hasSuffix("]")
    guard hasBrackets || !needsBrackets else { return nil }
    return IPv6Text.bytes(Array((hasBrackets ? String(text.dropFirst().dropLast()) : text).utf8))
  }

  private static func agree(_ one: [UInt8], _ other: [UInt8], _ bits: Int) -> Bool {
    guard one.count == other.count else { return false }
    return one.indices.allSatisfy { index in
      let count = min(max(bits - index * 8, 0), 8)
      return (one[index] ^ other[index]) >> (8 - count) == 0
    }
  }
}
