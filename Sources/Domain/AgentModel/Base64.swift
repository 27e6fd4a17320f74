/// Padded Base64 (RFC 4648 §4). Decoding, of bytes that are not secret, is strict: each byte sequence has exactly one
/// spelling.
public enum Base64 {
  public static func encode(_ bytes: UnsafeRawBufferPointer) -> String {
    let count = (bytes.count + 2) / 3 * 4
    return String(unsafeUninitializedCapacity: count) { target in
      var written = 0
      var encoder = Encoder()
      let write = { (character: UInt8) in
        target[written] = character
        written += 1
      }
      for byte in bytes { encoder.append(byte, write) }
      encoder.finish(write)
      return written
    }
  }

  /// Encodes byte by byte, so that a secret can be encoded from guarded memory into guarded memory.
  public struct Encoder {
    private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    private var bits: UInt32 = 0
    private var held = 0

    public init() {}

    public mutating func append(_ byte: UInt8, _ emit: (UInt8) -> Void) {
      bits = bits << 8 | UInt32(byte)
      held += 1
      if held == 3 { group(emit) }
    }

    /// The last characters, with their padding.
    public mutating func finish(_ emit: (UInt8) -> Void) {
      guard held > 0 else { return }
      bits <<= UInt32(8 * (3 - held))
      group(emit)
    }

    private mutating func group(_ emit: (UInt8) -> Void) {
      for character in 0..<4 {
        emit(
          character <= held
            ? Self.alphabet.utf8Start[Int(bits >> (18 - 6 * UInt32(character)) & 63)] : UInt8(ascii: "="))
      }
      (bits, held) = (0, 0)
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
