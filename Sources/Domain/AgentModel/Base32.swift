/// Lower-case Base32 without padding (RFC 4648 §6), for ids that are read aloud, typed in a shell or used in file
/// names.
public enum Base32 {
  private static let encoding = BitEncoding(
    bitsPerCharacter: 5, alphabet: Array("abcdefghijklmnopqrstuvwxyz234567".utf8))

  /// Encodes bytes: 16 bytes give 26 characters.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String { encoding.text(bytes) }
}
