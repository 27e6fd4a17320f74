internal import Glibc

/// What a table of requests knows an id by: equal ids have equal keys, however they are written. `"A"` and `"\u0041"` are
/// one id, and so are `1`, `1.0` and `1e0`. An answer echoes the id as it was written.
public enum RequestIDKey {
  /// The key of an id as written. Almost every id is its own key, which is then not copied.
  public static func of(_ id: [UInt8]) -> [UInt8] { id.withUnsafeBytes(normal) ?? id }

  public static func of(_ id: UnsafeRawBufferPointer) -> [UInt8] { normal(id) ?? Array(id) }

  /// Nil for an id that is its own key.
  private static func normal(_ id: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let first = id.first else { return nil }
    switch first {
    case UInt8(ascii: "\""): return memchr(id.baseAddress!, 0x5C, id.count) == nil ? nil : decoded(id)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return isPlain(id) ? nil : Number(id)?.key
    default: return nil
    }
  }

  /// A scanned string without its escapes, in quotes.
  private static func decoded(_ id: UnsafeRawBufferPointer) -> [UInt8]? {
    guard id.count >= 2 else { return nil }
    return [UInt8](unsafeUninitializedCapacity: id.count) { buffer, count in
      let target = UnsafeMutableRawBufferPointer(buffer)
      let text = UnsafeRawBufferPointer(rebasing: id[1..<(id.count - 1)])
      target[0] = UInt8(ascii: "\"")
      let length = JSONText.unescape(text, into: UnsafeMutableRawBufferPointer(rebasing: target[1...]))
      target[length + 1] = UInt8(ascii: "\"")
      count = length + 2
    }
  }

  /// An integer as JSON writes it shortest, of so few digits that it is a key as it is.
  private static func isPlain(_ id: UnsafeRawBufferPointer) -> Bool {
    let isNegative = id[0] == UInt8(ascii: "-")
    let digits = id[(isNegative ? 1 : 0)...]
    guard digits.count <= Number.mostDigits, digits.allSatisfy({ $0 &- UInt8(ascii: "0") <= 9 }) else { return false }
    return !isNegative || digits.first != UInt8(ascii: "0")
  }

  /// A number of JSON by its value: its significant digits, and the power of ten of the last one.
  private struct Number {
    /// An integer of at most so many digits has them as its key; an exponent of so many may differ from another one.
    static let mostDigits = 40
    private static let mostExponentDigits = 15

    private var isNegative = false
    private var digits: [UInt8] = []
    private var power = 0

    /// Nil for a text that is no number, or one with an exponent beyond reason: such an id is its own key.
    init?(_ text: UnsafeRawBufferPointer) {
      var position = 0
      if text[0] == UInt8(ascii: "-") {
        isNegative = true
        position = 1
      }
      var isFraction = false
      while position < text.count {
        let byte = text[position]
        if byte &- UInt8(ascii: "0") <= 9 {
          if !digits.isEmpty || byte != UInt8(ascii: "0") { digits.append(byte) }
          if isFraction { power -= 1 }
        } else if byte == UInt8(ascii: "."), !isFraction {
          isFraction = true
        } else {
          break
        }
        position += 1
      }
      guard let exponent = Self.exponent(text[position...]) else { return nil }
      power += exponent
      while digits.last == UInt8(ascii: "0") {
        digits.removeLast()
        power += 1
      }
    }

    /// The exponent of the rest of a number; 0 for none.
    private static func exponent(_ rest: Slice<UnsafeRawBufferPointer>) -> Int? {
      guard let first = rest.first else { return 0 }
      guard first | 0x20 == UInt8(ascii: "e") else { return nil }
      var digits = rest.dropFirst()
      let sign = digits.first
      if sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { digits = digits.dropFirst() }
      guard !digits.isEmpty, digits.count <= mostExponentDigits else { return nil }
      var exponent = 0
      for byte in digits {
        guard byte &- UInt8(ascii: "0") <= 9 else { return nil }
        exponent = exponent * 10 + Int(byte - UInt8(ascii: "0"))
      }
      return sign == UInt8(ascii: "-") ? -exponent : exponent
    }

    var key: [UInt8] {
      if digits.isEmpty { return [UInt8(ascii: "0")] }
      let sign = isNegative ? [UInt8(ascii: "-")] : []
      if power >= 0, power <= Self.mostDigits, digits.count + power <= Self.mostDigits {
        return sign + digits + [UInt8](repeating: UInt8(ascii: "0"), count: power)
      }
      return sign + digits + Array("e\(power)".utf8)
    }
  }
}
