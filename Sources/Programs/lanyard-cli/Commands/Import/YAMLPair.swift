/// A line of a block mapping in YAML, `key: value`, both plain or quoted on that line (YAML 1.2.2 §7.3). Anchors, tags, block
/// scalars, flow collections and lists are not read.
struct YAMLPair {
  /// The indentation.
  let column: Int
  /// Nil for a line without a pair: empty, a comment, or the beginning of a document.
  let key: String?
  /// No String is made of it before it is asked for: it may be a token.
  private let value: Slice<UnsafeRawBufferPointer>

  /// A value on the line of its key.
  enum Scalar: Equatable {
    /// An empty value, or null.
    case empty
    case text(String)
  }

  /// Nil for what is no such line.
  init?(_ line: Slice<UnsafeRawBufferPointer>) {
    column = line.prefix { $0 == 0x20 }.count
    let text = line.dropFirst(column)
    guard Self.isContent(text), !(column == 0 && Self.isDocumentStart(text)) else {
      (key, value) = (nil, text)
      return
    }
    guard let (name, rest) = Self.key(text) else { return nil }
    (key, value) = (name, rest.drop(while: Self.isBlank))
  }

  /// True if there is a value: neither nothing nor a comment nor an empty text.
  var hasValue: Bool {
    Self.isContent(value) && !value.starts(with: #""""#.utf8) && !value.starts(with: "''".utf8)
  }

  /// Nil for a value of another form.
  func scalar() -> Scalar? {
    guard Self.isContent(value) else { return .empty }
    if let quote = value.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
      guard let (text, rest) = Self.quoted(value), !Self.isContent(rest.drop(while: Self.isBlank)),
        rest.isEmpty || Self.isBlank(rest[rest.startIndex])
      else { return nil }
      return .text(text)
    }
    guard let text = Self.plain(value), !text.contains(": "), !text.hasSuffix(":") else { return nil }
    return ["~", "null", "Null", "NULL"].contains(text) ? .empty : .text(text)
  }

  // MARK: parts

  /// False for an empty rest of a line and for a comment.
  private static func isContent(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
    guard let first = text.first(where: { !isBlank($0) }) else { return false }
    return first != UInt8(ascii: "#")
  }

  private static func isDocumentStart(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
    text.starts(with: "---".utf8) && !isContent(text.dropFirst(3))
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

  /// The key, and what stands behind its colon.
  private static func key(
    _ text: Slice<UnsafeRawBufferPointer>
  ) -> (String, Slice<UnsafeRawBufferPointer>)? {
    if let quote = text.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
      guard let (name, rest) = quoted(text) else { return nil }
      let after = rest.drop(while: isBlank)
      guard after.first == UInt8(ascii: ":"), !name.isEmpty else { return nil }
      return (name, after.dropFirst())
    }
    // A colon ends a plain key only before a blank: a host may have a port.
    var colon = text.startIndex
    while colon < text.endIndex {
      let next = colon + 1
      if text[colon] == UInt8(ascii: ":"), next == text.endIndex || isBlank(text[next]) { break }
      colon += 1
    }
    guard colon < text.endIndex, let name = plain(text[..<colon]) else { return nil }
    return (name, text[(colon + 1)...])
  }

  /// A plain scalar up to a comment; nil if it begins as no plain one does (§7.3.3).
  private static func plain(_ text: Slice<UnsafeRawBufferPointer>) -> String? {
    var end = text.startIndex
    while end < text.endIndex {
      if text[end] == UInt8(ascii: "#"), end > text.startIndex, isBlank(text[end - 1]) { break }
      end += 1
    }
    guard let first = text.first, !"-?:,[]{}#&*!|>'\"%@`\t".utf8.contains(first),
      let word = String(validating: text[..<end], as: UTF8.self)
    else { return nil }
    return word.trimming { $0.isWhitespace }
  }

  /// The text between two quotes, and what follows. Nil without an end, and for an escape that no name needs.
  private static func quoted(
    _ text: Slice<UnsafeRawBufferPointer>
  ) -> (String, Slice<UnsafeRawBufferPointer>)? {
    guard let quote = text.first else { return nil }
    var bytes: [UInt8] = []
    var index = text.startIndex + 1
    while index < text.endIndex {
      let byte = text[index]
      index += 1
      let next = index < text.endIndex ? text[index] : nil
      switch (byte, next) {
      case (quote, quote) where quote == UInt8(ascii: "'"), (UInt8(ascii: "\\"), UInt8(ascii: "\"")),
        (UInt8(ascii: "\\"), UInt8(ascii: "\\")), (UInt8(ascii: "\\"), UInt8(ascii: "/")):
        if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "'") {
          bytes.append(byte)
        } else {
          bytes.append(next!)
          index += 1
        }
      case (quote, _): return String(validating: bytes, as: UTF8.self).map { ($0, text[index...]) }
      case (UInt8(ascii: "\\"), _) where quote == UInt8(ascii: "\""): return nil
      default: bytes.append(byte)
      }
    }
    return nil
  }
}
