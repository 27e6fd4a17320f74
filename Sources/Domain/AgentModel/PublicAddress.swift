/// Which IP addresses are those of servers that everybody reaches: not private, not of this machine or link, and not reserved
/// (the registries of special-purpose addresses, RFC 6890).
public enum PublicAddress {
  /// True for a public address.
  ///
  /// - Parameter address: 4 or 16 bytes in network order; any other count is no public address.
  public static func isPublic(_ address: [UInt8]) -> Bool {
    switch address.count {
    case 4: !special4.contains { $0.covers(address) }
    case 16:
      if let four = embedded(in: address) { isPublic(four) } else { !special6.contains { $0.covers(address) } }
    default: false
    }
  }

  /// True for the host of a URL that is itself no public address, or names this machine: what a name leads to shows only
  /// where it is looked up.
  public static func isSpecial(host: String) -> Bool {
    if host == "localhost" || host.hasSuffix(".localhost") { return true }
    return (URLSyntax.ipv4(Array(host.utf8)) ?? IPv6Text.bytes(Array(host.utf8))).map { !isPublic($0) } ?? false
  }

  /// The address of IPv4 that the host of a URL is, or that it leads to as one of IPv6; nil for any other host.
  public static func ipv4(host: String) -> [UInt8]? {
    let text = Array(host.utf8)
    return URLSyntax.ipv4(text) ?? IPv6Text.bytes(text).flatMap { embedded(in: $0) }
  }

  private struct Block {
    var address: [UInt8]
    var bits: Int

    init(_ address: [UInt8], _ bits: Int) { (self.address, self.bits) = (address, bits) }

    func covers(_ other: [UInt8]) -> Bool {
      zip(address, other).enumerated().allSatisfy { index, pair in
        let count = min(max(bits - index * 8, 0), 8)
        return UInt16(pair.0 ^ pair.1) >> (8 - count) == 0
      }
    }
  }

  private static let special4 = [
    Block([0, 0, 0, 0], 8), Block([10, 0, 0, 0], 8), Block([100, 64, 0, 0], 10), Block([127, 0, 0, 0], 8),
    Block([169, 254, 0, 0], 16), Block([172, 16, 0, 0], 12), Block([192, 0, 0, 0], 24), Block([192, 0, 2, 0], 24),
    Block([192, 88, 99, 0], 24), Block([192, 168, 0, 0], 16), Block([198, 18, 0, 0], 15), Block([198, 51, 100, 0], 24),
    Block([203, 0, 113, 0], 24),
    // Multicast, reserved and broadcast.
    Block([224, 0, 0, 0], 3),
  ]

  private static let special6 = [
    // Of all addresses of IPv6 only these are in public use (RFC 4291 §2.4).
    Block([0x00], 3), Block([0x40], 2), Block([0x80], 1),
    Block([0x20, 0x01, 0x00], 23), Block([0x20, 0x01, 0x0D, 0xB8], 32), Block([0x3F, 0xFF, 0x00], 20),
  ]

  /// The address of IPv4 that one of IPv6 leads to: mapped and compatible (RFC 4291 §2.5.5), translated (RFC 6052 §2.1),
  /// 6to4 (RFC 3056).
  private static func embedded(in address: [UInt8]) -> [UInt8]? {
    let zeros = [UInt8](repeating: 0, count: 12)
    let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
    let translated: [UInt8] = [0x00, 0x64, 0xFF, 0x9B] + [UInt8](repeating: 0, count: 8)
    let prefix = Array(address[..<12])
    if prefix == mapped || prefix == translated || prefix == zeros { return Array(address[12...]) }
    return address.starts(with: [0x20, 0x02]) ? Array(address[2..<6]) : nil
  }
}
