/// Lower-case Base32 without padding (RFC 4648 §6), for ids that are read aloud, typed in a shell or used in file
/// names.
public enum Base32 {
  private static let encoding = BitEncoding(
    bitsPerCharacter: 5, alphabet: Array("abcdefghijklmnopqrstuvwxyz234567".utf8))

  /// Encodes bytes: 16 bytes give 26 characters.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String { encoding.text(Array(bytes)) }

  /// Nil for any text that `encode` does not make.
  public static func decode(_ text: some StringProtocol) -> [UInt8]? {
    var bytes: [UInt8] = []
    var (bits, count) = (0, 0)
    for character in text.utf8 {
      switch character {
      case 0x61...0x7A: bits = bits << 5 | Int(character - 0x61)
      case 0x32...0x37: bits = bits << 5 | Int(character - 0x32 + 26)
      default: return nil
      }
      count += 5
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        bits &= 1 << count - 1
      }
    }
    return encode(bytes) == text ? bytes : nil
  }
}
