/// base64url without padding (RFC 4648 §5, RFC 7515 §2), strict both ways: one sequence of bytes has one spelling.
public enum Base64URL {
  /// The text of these bytes.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    var bits: UInt32 = 0
    var held = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      held += 8
      while held >= 6 {
        held -= 6
        text.unicodeScalars.append(Unicode.Scalar(alphabet[Int(bits >> held & 63)]))
      }
    }
    if held > 0 { text.unicodeScalars.append(Unicode.Scalar(alphabet[Int(bits << (6 - held) & 63)])) }
    return text
  }

  /// Writes the text of these bytes into memory of the caller's, which holds at least four characters for three bytes:
  /// the way for secrets. Returns how many there are.
  public static func encode(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Int {
    var bits: UInt32 = 0
    var held = 0
    var written = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      held += 8
      while held >= 6 {
        held -= 6
        target[written] = alphabet[Int(bits >> held & 63)]
        written += 1
      }
    }
    guard held > 0 else { return written }
    target[written] = alphabet[Int(bits << (6 - held) & 63)]
    return written + 1
  }

  /// The bytes of this text; nil for padding, white space, a foreign character, or bits left over that are not zero.
  public static func decode(_ text: String) -> [UInt8]? {
    var text = text
    return text.withUTF8 { decode(UnsafeRawBufferPointer($0)) }
  }

  public static func decode(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
    var valid = false
    let bytes = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4) { buffer, count in
      guard let written = decode(text, into: UnsafeMutableRawBufferPointer(buffer)) else { return }
      (count, valid) = (written, true)
    }
    return valid ? bytes : nil
  }

  /// Decodes into memory of the caller's, which holds at least three bytes for four characters: the way for secrets.
  public static func decode(_ text: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Int? {
    guard text.count % 4 != 1 else { return nil }
    var bits: UInt32 = 0
    var held = 0
    var written = 0
    for character in text {
      guard let value = value(of: character) else { return nil }
      bits = bits << 6 | value
      held += 6
      if held >= 8 {
        held -= 8
        target[written] = UInt8(truncatingIfNeeded: bits >> held)
        written += 1
      }
    }
    guard bits & (1 << held - 1) == 0 else { return nil }  // RFC 4648 §3.5
    return written
  }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private static func value(of character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
