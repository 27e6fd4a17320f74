/// The exact value of a scanned number, if it is an integer within the bounds of the wire. A conversion by way of
/// `Double` would accept `9007199254740990.5` and `1e-400`.
enum JSONInteger {
  /// The largest magnitude that interoperates (RFC 8259 §6).
  static let largest: Int64 = 1 << 53 - 1

  static func value(_ text: UnsafeRawBufferPointer) -> Int64? {
    var position = 0
    let isNegative = text[0] == UInt8(ascii: "-")
    if isNegative { position += 1 }
    // The digits up to the last non-zero one, and the power of ten of that digit.
    var magnitude: Int64 = 0
    var power = 0
    var zeros = 0
    var isFraction = false
    var places = 0
    while position < text.count {
      let digit = text[position] &- UInt8(ascii: "0")
      if digit > 9 {
        guard text[position] == UInt8(ascii: ".") else { break }
        isFraction = true
      } else {
        if isFraction { places += 1 }
        if digit == 0 {
          zeros += 1
          if !isFraction { power += 1 }
        } else {
          // Too large, or not an integer because the last digit is not 0.
          guard let shifted = scaled(magnitude, by: zeros + 1), shifted <= largest - Int64(digit) else { return nil }
          magnitude = shifted + Int64(digit)
          zeros = 0
          power = -places
        }
      }
      position += 1
    }
    guard magnitude > 0 else { return 0 }
    guard let whole = scaled(magnitude, by: power + exponent(text, after: position)) else { return nil }
    return isNegative ? -whole : whole
  }

  /// `value` times a power of ten; nil if the result exceeds `largest` or is not an integer.
  private static func scaled(_ value: Int64, by power: Int) -> Int64? {
    guard value > 0 else { return 0 }
    guard 0...15 ~= power else { return nil }
    var value = value
    for _ in 0..<power {
      value *= 10
      guard value <= largest else { return nil }
    }
    return value
  }

  /// The exponent; 0 if there is none. It is clamped to a value beyond the length of any line.
  private static func exponent(_ text: UnsafeRawBufferPointer, after position: Int) -> Int {
    guard position < text.count else { return 0 }
    var exponent = 0
    for byte in text[(position + 1)...] where byte &- UInt8(ascii: "0") < 10 {
      exponent = min(exponent * 10 + Int(byte - UInt8(ascii: "0")), 1 << 40)
    }
    return text[position + 1] == UInt8(ascii: "-") ? -exponent : exponent
  }
}
