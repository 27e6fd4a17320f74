/// The bytes of HTTP header fields.
enum FieldSyntax {
  /// `tchar` of RFC 9110 section 5.6.2.
  static func isToken(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte) }

  static func isAlphanumeric(_ byte: UInt8) -> Bool {
    byte &- UInt8(ascii: "0") < 10 || (byte | 0x20) &- UInt8(ascii: "a") < 26
  }

  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// RFC 9110 section 5.5: no line end, no NUL and no other control character but the tab.
  static func isValue(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

  /// The elements of a list of tokens in lower case (RFC 9110 section 5.6.1).
  static func tokens(of value: String) -> [String] {
    value.split(separator: ",").map { element in
      String(decoding: element.utf8.filter { !isBlank($0) }, as: UTF8.self).lowercased()
    }.filter { !$0.isEmpty }
  }
}
