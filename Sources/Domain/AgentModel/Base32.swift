/// Base 32 in lower case without padding (RFC 4648 §6): ids that survive a person, a shell and a file name.
public enum Base32 {
  private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

  /// The text of these bytes: 16 bytes make 26 characters.
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
