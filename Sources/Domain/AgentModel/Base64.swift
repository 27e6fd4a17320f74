/// Padded Base64 (RFC 4648 §4) of bytes that are not secret. Decoding is strict: each byte sequence has exactly one
/// spelling.
public enum Base64 {
  public static func encode(_ bytes: UnsafeRawBufferPointer) -> String {
    let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    let count = (bytes.count + 2) / 3 * 4
    return String(unsafeUninitializedCapacity: count) { target in
      var written = 0
      for start in stride(from: 0, to: bytes.count, by: 3) {
        let held = min(bytes.count - start, 3)
        var bits: UInt32 = 0
        for offset in 0..<3 { bits = bits << 8 | (offset < held ? UInt32(bytes[start + offset]) : 0) }
        for character in 0..<4 {
          target[written] =
            character <= held ? alphabet.utf8Start[Int(bits >> (18 - 6 * UInt32(character)) & 63)] : UInt8(ascii: "=")
          written += 1
        }
      }
      return written
    }
  }

  /// Nil for text without its padding, with white space or another character, or with unused bits that are not zero.
  public static func decode(_ text: String) -> [UInt8]? {
    var characters = Array(text.utf8)
    guard characters.count % 4 == 0 else { return nil }
    for _ in 0..<2 where characters.last == UInt8(ascii: "=") { characters.removeLast() }
    for index in characters.indices {
      switch characters[index] {
      case UInt8(ascii: "+"): characters[index] = UInt8(ascii: "-")
      case UInt8(ascii: "/"): characters[index] = UInt8(ascii: "_")
      case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
      default: break
      }
    }
    return characters.withUnsafeBytes { Base64URL.decode($0) }
  }
}
