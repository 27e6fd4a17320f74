internal import JSONRPC

/// A character that can steer a terminal, turn the direction of a line or hide in it, where JSON has it raw in UTF-8.
struct SteeringCharacter {
  private let scalar: Unicode.Scalar
  /// Its bytes in UTF-8.
  let length: Int

  /// True for DEL and C1, false for what only disguises a text.
  var isControl: Bool { scalar.value < 0xA0 }

  /// Its escape in JSON (RFC 8259 §7).
  var escaped: String {
    UTF16.encode(scalar).map { unit in
      unit.map { unit in
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      }.joined()
    } ?? ""
  }

  /// Nil if none begins at this byte.
  init?(in bytes: UnsafeRawBufferPointer, at index: Int) {
    // Between the tokens of JSON there are blanks and ends of lines.
    guard bytes[index] >= 0x7F else { return nil }
    var decoder = UTF8()
    var rest = bytes[index...].prefix(4).makeIterator()
    guard case .scalarValue(let scalar) = decoder.decode(&rest), scalar.isHidden else { return nil }
    self.scalar = scalar
    length = UTF8.width(scalar)
  }
}
