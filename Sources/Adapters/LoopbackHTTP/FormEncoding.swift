/// `application/x-www-form-urlencoded`, as queries and OAuth requests use it (RFC 6749 appendix B).
public enum FormEncoding {
  /// The members in order. A name sent twice is there twice: OAuth forbids repeated parameters (RFC 6749 section 3.1),
  /// and only a reader who sees both can refuse them. Bytes that are not UTF-8 become U+FFFD; a `%` that begins no
  /// escape stays as it is.
  public static func decode(_ bytes: some Collection<UInt8>) -> [(name: String, value: String)] {
    bytes.split(separator: UInt8(ascii: "&")).map { member in
      let mark = member.firstIndex(of: UInt8(ascii: "="))
      let name = member[..<(mark ?? member.endIndex)]
      let value = mark.map { member[member.index(after: $0)...] } ?? member[member.endIndex...]
      return (
        PercentEncoding.decode(name, plusIsSpace: true), PercentEncoding.decode(value, plusIsSpace: true)
      )
    }
  }

  public static func decode(_ text: String) -> [(name: String, value: String)] { decode(Array(text.utf8)) }

  /// The members joined; a space becomes `%20`, which decoders of both customs read.
  public static func encode(_ items: [(name: String, value: String)]) -> String {
    items.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
  }
}

/// Percent-encoding (RFC 3986 section 2.1).
public enum PercentEncoding {
  public static func decode(_ bytes: some Collection<UInt8>, plusIsSpace: Bool = false) -> String {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index != bytes.endIndex {
      let byte = bytes[index]
      index = bytes.index(after: index)
      if byte == UInt8(ascii: "+") && plusIsSpace {
        decoded.append(0x20)
      } else if byte == UInt8(ascii: "%"), let escape = escapedByte(in: bytes, at: index) {
        decoded.append(escape)
        index = bytes.index(index, offsetBy: 2)
      } else {
        decoded.append(byte)
      }
    }
    return String(decoding: decoded, as: UTF8.self)
  }

  public static func decode(_ text: String, plusIsSpace: Bool = false) -> String {
    decode(Array(text.utf8), plusIsSpace: plusIsSpace)
  }

  /// Everything but the unreserved characters is escaped (RFC 3986 section 2.3).
  public static func encode(_ text: String) -> String {
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      if isUnreserved(byte) {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  private static let digits = Array("0123456789ABCDEF".utf8)

  private static func escapedByte<C: Collection<UInt8>>(in bytes: C, at index: C.Index) -> UInt8? {
    guard let second = bytes.index(index, offsetBy: 1, limitedBy: bytes.endIndex), second != bytes.endIndex,
      let high = hexValue(bytes[index]), let low = hexValue(bytes[second])
    else { return nil }
    return high << 4 | low
  }

  private static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
    default: false
    }
  }
}
