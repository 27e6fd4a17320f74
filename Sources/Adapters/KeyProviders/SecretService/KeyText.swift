package import Secrets

/// A key as a line of text, for keyrings that show and edit text: `lanyard-key-1`, the key in hex, and the first 8
/// bytes of the SHA-256 of the key, so that a damaged item is not taken for a wrong key.
package enum KeyText {
  private static let heading = Array("lanyard-key-1 ".utf8)
  private static let checkBytes = 8
  private static let count = heading.count + 2 * SealingKey.byteCount + 1 + 2 * checkBytes

  package static func write(_ key: SealingKey) -> Secret {
    var text = SecretBuilder(capacity: count)
    heading.withUnsafeBytes { text.append($0) }
    key.secret.withBytes { bytes in
      for byte in bytes { appendHex(byte, to: &text) }
      text.append(UInt8(ascii: " "))
      for byte in sha256(bytes).prefix(checkBytes) { appendHex(byte, to: &text) }
    }
    return text.finish()
  }

  /// Nil for any other text. A trailing newline is allowed: people edit text.
  package static func read(_ text: Secret) -> SealingKey? {
    text.withBytes { bytes in
      let line = UnsafeRawBufferPointer(rebasing: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...])
      guard line.count == count, line.starts(with: heading) else { return nil }
      let digits = line.dropFirst(heading.count)
      var isHex = true
      func byte(at start: Int) -> UInt8 {
        guard let high = value(line[start]), let low = value(line[start + 1]) else {
          isHex = false
          return 0
        }
        return high << 4 | low
      }
      let key = SecretBytes(capacity: SealingKey.byteCount) { target in
        for index in 0..<target.count { target[index] = byte(at: digits.startIndex + 2 * index) }
        return target.count
      }
      let check = digits.startIndex + 2 * SealingKey.byteCount
      guard line[check] == UInt8(ascii: " ") else { return nil }
      let told = (0..<checkBytes).map { byte(at: check + 1 + 2 * $0) }
      guard isHex, key.withBytes({ sha256($0).starts(with: told) }) else { return nil }
      return SealingKey(Secret(key))
    }
  }

  // Computed without a table: which cache lines a table touches would reveal the key.
  private static func appendHex(_ byte: UInt8, to text: inout SecretBuilder) {
    text.append(digit(byte >> 4))
    text.append(digit(byte & 15))
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
