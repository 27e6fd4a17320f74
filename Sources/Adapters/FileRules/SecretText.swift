/// The text of a secret in a file or from a pipe, as an editor saved it: in UTF-8, with a byte order mark or without, and
/// with line ends behind it. One rule for the agent and for its programs, or a passphrase would be two.
package enum SecretText {
  /// Why the bytes are no such text. The bytes themselves are never told.
  package enum Problem: Error, Hashable, Sendable {
    /// A byte order mark of UTF-16 or UTF-32, or a NUL, which both have in Latin text.
    case wideCharacters
    /// Some other encoding, such as Latin-1.
    case notUTF8

    /// Said of the file, after its name.
    package var words: String {
      switch self {
      case .wideCharacters: "is UTF-16 text, or no text at all, and a secret is read as UTF-8: save the file as UTF-8"
      case .notUTF8: "is not UTF-8 text, perhaps since it was saved as Latin-1: save the file as UTF-8"
      }
    }
  }

  /// The place of the text: without a byte order mark before it and, unless its lines count, line ends (LF, CR LF, CR)
  /// behind it.
  package static func range(
    in bytes: UnsafeRawBufferPointer, keepingLines: Bool = false
  ) throws(Problem) -> Range<Int> {
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) || bytes.contains(0) {
      throw .wideCharacters
    }
    guard isUTF8(bytes) else { throw .notUTF8 }
    let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    var end = bytes.count
    while !keepingLines, end > start, bytes[end - 1] == 0x0A || bytes[end - 1] == 0x0D { end -= 1 }
    return start..<end
  }

  /// RFC 3629 §4. No String is made of a secret.
  private static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index < bytes.count {
      let lead = bytes[index]
      index += 1
      var second: ClosedRange<UInt8> = 0x80...0xBF
      let more: Int
      switch lead {
      case ..<0x80: continue
      case 0xC2...0xDF: more = 1
      case 0xE0: (more, second) = (2, 0xA0...0xBF)
      case 0xED: (more, second) = (2, 0x80...0x9F)
      case 0xE1...0xEF: more = 2
      case 0xF0: (more, second) = (3, 0x90...0xBF)
      case 0xF1...0xF3: more = 3
      case 0xF4: (more, second) = (3, 0x80...0x8F)
      default: return false
      }
      guard index + more <= bytes.count, second.contains(bytes[index]),
        bytes[(index + 1)..<(index + more)].allSatisfy({ (0x80...0xBF).contains($0) })
      else { return false }
      index += more
    }
    return true
  }
}
