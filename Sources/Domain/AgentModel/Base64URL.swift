/// base64url without padding (RFC 4648 §5, RFC 7515 §2). Decoding is strict: each byte sequence has exactly one
/// spelling.
public enum Base64URL {
  private static let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
  private static let encoding = BitEncoding(bitsPerCharacter: 6, alphabet: characters)

  /// Encodes bytes that are not secret.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String { encoding.text(Array(bytes)) }

  /// Encodes `bytes` into `target`, so that a secret stays in guarded memory.
  ///
  /// `target` holds at least four characters for every three bytes. Returns the number of characters written.
  public static func encode(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Int {
    var written = 0
    encoding.encode(bytes) {
      target[written] = $0
      written += 1
    }
    return written
  }

  /// Decodes `text`; nil for padding, white space, a character outside the alphabet, or unused bits that are not zero.
  public static func decode(_ text: String) -> [UInt8]? {
    var text = text
    return text.withUTF8 { decode(UnsafeRawBufferPointer($0)) }
  }

  /// Decodes ASCII text; nil as for `decode(_: String)`.
  public static func decode(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
    var valid = false
    let bytes = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4) { buffer, count in
      guard let written = decode(text, into: UnsafeMutableRawBufferPointer(buffer)) else { return }
      (count, valid) = (written, true)
    }
    return valid ? bytes : nil
  }

  /// Decodes text that proves nothing by its spelling: with padding, in the other alphabet (RFC 4648 §4), in lines (RFC
  /// 2045 §6.8), with unused bits that are not zero. Nil for any other character.
  public static func decodeLeniently(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var plain: [UInt8] = []
    var padding = 0
    for character in text {
      switch character {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): continue
      case UInt8(ascii: "="): padding += 1
      case _ where padding > 0: return nil
      case UInt8(ascii: "+"): plain.append(UInt8(ascii: "-"))
      case UInt8(ascii: "/"): plain.append(UInt8(ascii: "_"))
      default: plain.append(character)
      }
    }
    guard padding <= 2, plain.count % 4 != 1 else { return nil }
    if let last = plain.last, let value = value(of: last) {
      // The bits beyond the last whole byte say nothing.
      let unused: UInt32 = plain.count % 4 == 2 ? 0b1111 : plain.count % 4 == 3 ? 0b11 : 0
      plain[plain.count - 1] = characters[Int(value & ~unused)]
    }
    return plain.withUnsafeBytes { decode($0) }
  }

  /// Decodes `text` into `target`, so that a secret stays in guarded memory.
  ///
  /// `target` holds at least three bytes for every four characters. Returns the number of bytes written; nil as for
  /// `decode(_: String)`.
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
