import Glibc

/// Hosts that stay on this machine.
public enum LoopbackAddress {
  /// Whether a host, as it stands in a URL, is 127.0.0.0/8, `::1` (with or without brackets) or `localhost`.
  public static func isLoopback(host: String) -> Bool { !addresses(of: host).isEmpty }

  /// The same for `host:port`.
  public static func isLoopback(authority: String) -> Bool {
    var host = authority[...]
    if host.hasPrefix("[") {
      guard let bracket = host.firstIndex(of: "]") else { return false }
      let port = host[host.index(after: bracket)...]
      guard port.isEmpty || port.hasPrefix(":") && isPort(port.dropFirst()) else { return false }
      host = host[...bracket]
    } else if let colon = host.firstIndex(of: ":") {
      guard isPort(host[host.index(after: colon)...]) else { return false }
      host = host[..<colon]
    }
    return isLoopback(host: String(host))
  }

  private static func isPort(_ text: Substring) -> Bool { UInt16(text) != nil }

  enum Address: Equatable {
    case v4(UInt32)
    case v6

    var family: Int32 { if case .v4 = self { AF_INET } else { AF_INET6 } }
  }

  /// The addresses to listen on for `host`. `localhost` is both families, since a browser tries either: another program
  /// on the other family's port would receive the authorization code.
  static func addresses(of host: String) -> [Address] {
    if host.equalsIgnoringCase("localhost") { return [.v4(0x7F00_0001), .v6] }
    if host == "::1" || host == "[::1]" { return [.v6] }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return [] }
    var address: UInt32 = 0
    for part in parts {
      // Canonical decimal only: different parsers read `0177.0.0.1` and `127.1` as different hosts.
      guard let byte = UInt8(part), String(byte) == part else { return [] }
      address = address << 8 | UInt32(byte)
    }
    return address >> 24 == 127 ? [.v4(address)] : []
  }
}
