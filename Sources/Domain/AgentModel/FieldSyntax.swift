/// The bytes of HTTP header fields.
package enum FieldSyntax {
  /// `tchar` of RFC 9110 section 5.6.2.
  package static func isToken(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte) }

  /// `token` of RFC 9110 section 5.6.2: a method, or the name of a field.
  package static func isToken(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy { isToken($0) } }

  package static func isAlphanumeric(_ byte: UInt8) -> Bool {
    byte &- UInt8(ascii: "0") < 10 || (byte | 0x20) &- UInt8(ascii: "a") < 26
  }

  package static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// RFC 9110 section 5.5: no line end, no NUL and no other control character but the tab.
  package static func isValue(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

  package static func isValue(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.allSatisfy { isValue($0) } }

  /// True if `name` is `lowercased` without regard to case (RFC 9110 section 5.1).
  package static func isName(_ name: String, _ lowercased: String) -> Bool {
    guard name.utf8.count == lowercased.utf8.count else { return false }
    var (name, lowercased) = (name, lowercased)
    return name.withUTF8 { name in
      lowercased.withUTF8 { lowercased in
        zip(name, lowercased).allSatisfy { byte, other in
          lowered(byte) == other
        }
      }
    }
  }

  /// ASCII alone: other letters whose lower case is ASCII, such as U+212A, are no letters of a token.
  package static func lowered(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }

  /// The elements of a list of tokens in lower case (RFC 9110 section 5.6.1).
  package static func tokens(of value: String) -> [String] {
    value.utf8.split(separator: UInt8(ascii: ",")).map { element in
      String(decoding: element.filter { !isBlank($0) }.map(lowered), as: UTF8.self)
    }.filter { !$0.isEmpty }
  }
}
