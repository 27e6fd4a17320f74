public import LoopbackHTTP

/// `application/x-www-form-urlencoded`, as queries and OAuth requests use it (RFC 6749 appendix B).
///
/// A second opinion beside the agent's `PercentCoding` and `HTTPQuery`: provider and agent must agree on the wire
/// without sharing code.
public enum FormEncoding {
  static let mediaType = "application/x-www-form-urlencoded"

  /// The members in order. A repeated name stays visible, since OAuth forbids repeated parameters (RFC 6749 section
  /// 3.1). Bytes that are not UTF-8 become U+FFFD; a `%` that begins no escape stays.
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

  /// Joins the members; a space becomes `%20`, which form and URI decoders both read.
  public static func encode(_ items: [(name: String, value: String)]) -> String {
    items.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
  }
}

extension HTTPRequest {
  /// A form, sent as a browser or an OAuth client sends it.
  public static func postForm(
    _ url: String,
    _ fields: [(name: String, value: String)],
    headers: [(name: String, value: String)] = []
  ) -> HTTPRequest {
    let type = (name: "Content-Type", value: FormEncoding.mediaType)
    return HTTPRequest(
      method: "POST", url: url, headers: headers + [type], body: Array(FormEncoding.encode(fields).utf8))
  }

  /// The query's members in order; a repeated name stays visible.
  public var queryItems: [(name: String, value: String)] { FormEncoding.decode(query) }

  /// The members of a form body in order, or nothing if the body is not declared to be a form.
  public var formItems: [(name: String, value: String)] {
    let type = header("Content-Type")?.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
    return type?.lowercased() == FormEncoding.mediaType ? FormEncoding.decode(body) : []
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

  /// Escapes all but the unreserved characters (RFC 3986 section 2.3).
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
