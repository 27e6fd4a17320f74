/// The part of the RFC 3986 grammar that `HTTPURL` needs.
enum URLSyntax {
  /// True for unreserved, sub-delims, gen-delims but `#`, and `%`. A URL must escape every other byte.
  static func isURLByte(_ byte: UInt8) -> Bool {
    PercentCoding.isUnreserved(byte) || "!$&'()*+,;=:/?@[]%".utf8.contains(byte)
  }

  static func hasWholeEscapes(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.indices.allSatisfy { index in
      bytes[index] != UInt8(ascii: "%")
        || bytes.endIndex - index > 2 && PercentCoding.digit(bytes[index + 1]) != nil
          && PercentCoding.digit(bytes[index + 2]) != nil
    }
  }

  /// Parses host and port; nil for user information, an empty host or port 0.
  static func authority(_ bytes: ArraySlice<UInt8>) -> (host: String, port: UInt16?)? {
    guard !bytes.contains(UInt8(ascii: "@")) else { return nil }
    let hostEnd: Int
    let host: String?
    if bytes.first == UInt8(ascii: "[") {
      guard let bracket = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
      hostEnd = bracket + 1
      host = IPv6Text.normalized(Array(bytes[(bytes.startIndex + 1)..<bracket]))
    } else {
      hostEnd = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
      host = name(Array(bytes[..<hostEnd]))
    }
    guard let host else { return nil }
    let rest = bytes[hostEnd...]
    if rest.isEmpty { return (host, nil) }
    guard rest.first == UInt8(ascii: ":") else { return nil }
    let digits = rest.dropFirst()
    if digits.isEmpty { return (host, nil) }  // RFC 3986 §6.2.3: `host:` is `host`
    guard digits.count <= 5, digits.allSatisfy(isDigit), let port = UInt16(String(decoding: digits, as: UTF8.self)),
      port > 0
    else { return nil }
    return (host, port)
  }

  /// A DNS name or an IPv4 address in lower case. Escapes are refused: DNS has none.
  private static func name(_ bytes: [UInt8]) -> String? {
    guard (1...253).contains(bytes.count) else { return nil }
    let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    for label in labels {
      guard (1...63).contains(label.count),
        label.allSatisfy({ isDigit($0) || isLetter($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") })
      else { return nil }
    }
    // Parsers disagree on whether a name that ends in a number is an address, so it must be a valid IPv4 address.
    let last = labels.last!
    let isNumber = last.allSatisfy(isDigit) || last.starts(with: "0x".utf8) || last.starts(with: "0X".utf8)
    if isNumber {
      // 0.0.0.0/8 is this machine for a connection (RFC 1122 §3.2.1.3), and no loopback address.
      guard let address = ipv4(bytes), address[0] != 0 else { return nil }
      return String(decoding: bytes, as: UTF8.self)
    }
    return String(decoding: bytes, as: UTF8.self).lowercased()
  }

  /// Parses four decimal numbers without leading zeros (RFC 3986 §3.2.2).
  static func ipv4(_ bytes: [UInt8]) -> [UInt8]? {
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var address: [UInt8] = []
    for part in parts {
      guard (1...3).contains(part.count), part.allSatisfy(isDigit), part.count == 1 || part.first != UInt8(ascii: "0"),
        let number = UInt8(exactly: part.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
      else { return nil }
      address.append(number)
    }
    return address
  }

  /// Removes dot segments (RFC 3986 §5.2.4), including escaped ones (§6.2.2.2).
  static func path(_ bytes: ArraySlice<UInt8>) -> String? {
    guard hasWholeEscapes(bytes), !bytes.contains(where: { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") }) else {
      return nil
    }
    guard !bytes.isEmpty else { return "/" }
    guard bytes.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") }) else {
      return String(decoding: bytes, as: UTF8.self)
    }
    var kept: [String] = []
    let segments = bytes.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let text = String(decoding: segment, as: UTF8.self)
      let isLast = index == segments.count - 1
      switch text.lowercased() {
      case ".", "%2e": if isLast { kept.append("") }
      case "..", ".%2e", "%2e.", "%2e%2e":
        _ = kept.popLast()
        if isLast { kept.append("") }
      default: kept.append(text)
      }
    }
    return "/" + kept.joined(separator: "/")
  }

  static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
  private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }
}

/// The text form of IPv6 addresses.
enum IPv6Text {
  /// The form of RFC 5952; nil for no address (RFC 4291 §2.2), an address with a zone, which is local to one machine, and
  /// spellings of this machine other than `::1`.
  static func normalized(_ text: [UInt8]) -> String? {
    guard let groups = groups(text), !isOtherLoopback(groups) else { return nil }
    // The longest run of at least two zero groups, the first among equals (RFC 5952 §4.2).
    var best = 0..<0
    var start = 0
    while start < 8 {
      let end = groups[start...].firstIndex { $0 != 0 } ?? 8
      if end - start > max(best.count, 1) { best = start..<end }
      start = max(end, start + 1)
    }
    func part(_ range: Range<Int>) -> String { groups[range].map { String($0, radix: 16) }.joined(separator: ":") }
    return best.isEmpty ? part(0..<8) : part(0..<best.lowerBound) + "::" + part(best.upperBound..<8)
  }

  /// The 16 bytes of an address; nil for none.
  static func bytes(_ text: [UInt8]) -> [UInt8]? {
    groups(text)?.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
  }

  /// The unspecified address, and 127.0.0.0/8 and 0.0.0.0/8 as addresses of IPv6 (RFC 4291 §2.5.2, §2.5.5).
  private static func isOtherLoopback(_ groups: [UInt16]) -> Bool {
    guard groups[..<5].allSatisfy({ $0 == 0 }) else { return false }
    let first = groups[6] >> 8
    if groups[5] == 0xFFFF { return first == 0 || first == 127 }
    return groups[5] == 0 && (first == 127 || groups[6] == 0 && groups[7] == 0)
  }

  private static func groups(_ text: [UInt8]) -> [UInt16]? {
    let colon = UInt8(ascii: ":")
    let gap = text.indices.dropLast().first { text[$0] == colon && text[$0 + 1] == colon }
    guard let gap else {
      guard let all = side(text[...], mayEndInIPv4: true), all.count == 8 else { return nil }
      return all
    }
    let left = text[..<gap]
    let right = text[(gap + 2)...]
    guard let head = left.isEmpty ? [] : side(left, mayEndInIPv4: false),
      let tail = right.isEmpty ? [] : side(right, mayEndInIPv4: true), head.count + tail.count < 8
    else { return nil }
    return head + [UInt16](repeating: 0, count: 8 - head.count - tail.count) + tail
  }

  private static func side(_ text: ArraySlice<UInt8>, mayEndInIPv4: Bool) -> [UInt16]? {
    var groups: [UInt16] = []
    let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      if mayEndInIPv4, index == parts.count - 1, part.contains(UInt8(ascii: ".")) {
        guard let address = URLSyntax.ipv4(Array(part)) else { return nil }
        groups.append(UInt16(address[0]) << 8 | UInt16(address[1]))
        groups.append(UInt16(address[2]) << 8 | UInt16(address[3]))
      } else {
        guard (1...4).contains(part.count), part.allSatisfy({ PercentCoding.digit($0) != nil }) else { return nil }
        groups.append(part.reduce(0) { $0 << 4 | UInt16(PercentCoding.digit($1)!) })
      }
    }
    return groups
  }
}
