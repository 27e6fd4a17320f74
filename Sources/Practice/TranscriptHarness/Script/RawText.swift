/// Bytes that are not one line of JSON, in a notation that shows each of them: quoted pieces with `\n \r \t \0 \" \\`
/// and `\xff`, each repeatable as in `65*"["`, one after another.
enum RawText {
  static func bytes(_ text: String) throws(Unreadable) -> [UInt8] {
    var rest = Array(text.utf8)[...]
    var bytes: [UInt8] = []
    while true {
      rest = rest.drop { $0 == UInt8(ascii: " ") }
      guard !rest.isEmpty else { return bytes }
      var times = 1
      let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      if !digits.isEmpty {
        rest = rest.dropFirst(digits.count)
        guard rest.first == UInt8(ascii: "*"), let count = Int(String(decoding: digits, as: UTF8.self)) else {
          throw Unreadable("expected a count like 65* before a quoted piece")
        }
        rest = rest.dropFirst()
        times = count
      }
      let piece = try piece(&rest)
      for _ in 0..<times { bytes += piece }
    }
  }

  private static func piece(_ rest: inout ArraySlice<UInt8>) throws(Unreadable) -> [UInt8] {
    guard rest.popFirst() == UInt8(ascii: "\"") else { throw Unreadable("expected a quoted piece") }
    var piece: [UInt8] = []
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return piece
      case UInt8(ascii: "\\"): piece.append(try escaped(&rest))
      default: piece.append(byte)
      }
    }
    throw Unreadable("a quoted piece does not end")
  }

  private static func escaped(_ rest: inout ArraySlice<UInt8>) throws(Unreadable) -> UInt8 {
    switch rest.popFirst() {
    case UInt8(ascii: "n"): return 0x0A
    case UInt8(ascii: "r"): return 0x0D
    case UInt8(ascii: "t"): return 0x09
    case UInt8(ascii: "0"): return 0x00
    case UInt8(ascii: "\""): return UInt8(ascii: "\"")
    case UInt8(ascii: "\\"): return UInt8(ascii: "\\")
    case UInt8(ascii: "x"):
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      guard let byte = UInt8(digits, radix: 16), digits.utf8.count == 2 else {
        throw Unreadable("\\x wants two digits")
      }
      rest = rest.dropFirst(2)
      return byte
    default: throw Unreadable("an escape is one of \\n \\r \\t \\0 \\\" \\\\ \\xff")
    }
  }

  /// The same notation, for messages about received bytes.
  static func quoted(_ bytes: some Sequence<UInt8>) -> String {
    var text = "\""
    for byte in bytes {
      switch byte {
      case 0x0A: text += "\\n"
      case 0x0D: text += "\\r"
      case 0x09: text += "\\t"
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += "\\" + String(UnicodeScalar(byte))
      case 0x20..<0x7F: text += String(UnicodeScalar(byte))
      default: text += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }
    return text + "\""
  }
}
