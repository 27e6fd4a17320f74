/// Lower-case Base32 without padding (RFC 4648 §6), for ids that are read aloud, typed in a shell or used in file
/// names.
public enum Base32 {
  private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

  /// Encodes bytes: 16 bytes give 26 characters.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    var bits: UInt32 = 0
    var held = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      held += 8
      while held >= 5 {
        held -= 5
        text.unicodeScalars.append(Unicode.Scalar(alphabet[Int(bits >> held & 31)]))
      }
    }
    if held > 0 { text.unicodeScalars.append(Unicode.Scalar(alphabet[Int(bits << (5 - held) & 31)])) }
    return text
  }
}
