/// Percent-encoding (RFC 3986 §2.1) and its form variant (`application/x-www-form-urlencoded`).
public enum PercentCoding {
  /// Encodes `bytes` and passes the result to `emit` byte by byte, so that a secret can be encoded from guarded memory
  /// into guarded memory.
  ///
  /// Every byte but the unreserved ones is escaped. With `form` a space becomes `+`.
  public static func encode(_ bytes: some Sequence<UInt8>, form: Bool = false, _ emit: (UInt8) -> Void) {
    for byte in bytes {
      switch byte {
      case _ where isUnreserved(byte): emit(byte)
      case UInt8(ascii: " ") where form: emit(UInt8(ascii: "+"))
      default:
        emit(UInt8(ascii: "%"))
        emit(digits[Int(byte >> 4)])
        emit(digits[Int(byte & 15)])
      }
    }
  }

  /// Encodes the UTF-8 bytes of `text`.
  public static func encode(_ text: String, form: Bool = false) -> String {
    var encoded = ""
    encode(text.utf8, form: form) { encoded.unicodeScalars.append(Unicode.Scalar($0)) }
    return encoded
  }

  /// Decodes `text`; nil for an incomplete escape or invalid UTF-8. With `form` a `+` becomes a space.
  public static func decode(_ text: some Sequence<UInt8>, form: Bool = false) -> String? {
    var bytes: [UInt8] = []
    return decode(text, form: form) { bytes.append($0) } ? String(validating: bytes, as: UTF8.self) : nil
  }

  /// Decodes `text` and passes the result to `emit` byte by byte; false for an incomplete escape.
  public static func decode(_ text: some Sequence<UInt8>, form: Bool = false, _ emit: (UInt8) -> Void) -> Bool {
    var characters = text.makeIterator()
    while let character = characters.next() {
      switch character {
      case UInt8(ascii: "%"):
        guard let high = characters.next().flatMap(digit), let low = characters.next().flatMap(digit) else {
          return false
        }
        emit(high << 4 | low)
      case UInt8(ascii: "+") where form: emit(UInt8(ascii: " "))
      default: emit(character)
      }
    }
    return true
  }

  /// RFC 3986 §2.3.
  static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }

  static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private static let digits = Array("0123456789ABCDEF".utf8)
}
