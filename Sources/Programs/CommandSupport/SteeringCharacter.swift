/// A character in UTF-8 that can steer a terminal or turn the direction of a line, where JSON has it raw.
struct SteeringCharacter {
  let value: UInt16
  /// Its bytes in UTF-8.
  let length: Int

  /// True for DEL and C1, false for marks of direction and separators of lines.
  var isControl: Bool { value < 0xA0 }

  /// Its escape in JSON (RFC 8259 §7).
  var escaped: String {
    let digits = String(value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
  }

  /// Nil if none begins at this byte.
  init?(in bytes: UnsafeRawBufferPointer, at index: Int) {
    func byte(_ offset: Int) -> UInt16 { index + offset < bytes.count ? UInt16(bytes[index + offset]) : 0 }
    switch byte(0) {
    case 0x7F: (value, length) = (0x7F, 1)
    case 0xC2 where (0x80..<0xA0).contains(byte(1)): (value, length) = (byte(1), 2)
    case 0xD8 where byte(1) == 0x9C: (value, length) = (0x061C, 2)
    case 0xE2 where byte(1) == 0x80 && [0x8E, 0x8F, 0xA8, 0xA9, 0xAA, 0xAB, 0xAC, 0xAD, 0xAE].contains(byte(2)),
      0xE2 where byte(1) == 0x81 && (0xA6...0xA9).contains(byte(2)):
      (value, length) = (0x2000 | (byte(1) & 0x3F) << 6 | byte(2) & 0x3F, 3)
    default: return nil
    }
  }
}
