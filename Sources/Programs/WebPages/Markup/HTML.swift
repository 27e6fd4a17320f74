internal import JSONRPC

/// A document in the making, in one buffer.
///
/// Markup comes from literals of this program alone: `StaticString` takes no value that is known only at run time. All other
/// text is escaped, and what a person would not see in it is replaced. So no text from outside becomes markup.
package struct HTML {
  private(set) var bytes: [UInt8] = []

  /// The document so far.
  package var document: String { String(decoding: bytes, as: UTF8.self) }

  package init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  /// Writes markup of the program.
  package mutating func literal(_ markup: StaticString) {
    bytes.append(contentsOf: UnsafeBufferPointer(start: markup.utf8Start, count: markup.utf8CodeUnitCount))
  }

  /// Writes text, for content and for values in double quotes.
  package mutating func text(_ text: String) {
    var text = text
    let isPlain = text.withUTF8 { utf8 in
      guard utf8.allSatisfy(Self.isPlain) else { return false }
      bytes.append(contentsOf: utf8)
      return true
    }
    guard !isPlain else { return }
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": literal("&amp;")
      case "<": literal("&lt;")
      case ">": literal("&gt;")
      case "\"": literal("&quot;")
      case "'": literal("&#39;")
      case let scalar where scalar.isHidden: literal("\u{FFFD}")
      default: bytes.append(contentsOf: UTF8.encode(scalar)!)
      }
    }
  }

  /// Printable ASCII without a meaning in markup.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "'"): false
    default: (0x20..<0x7F).contains(byte)
    }
  }

  /// Writes what others chose, such as a name: its writing direction reorders nothing around it.
  package mutating func name(_ text: String) {
    literal("<bdi>")
    self.text(text)
    literal("</bdi>")
  }

  /// Writes a whole number.
  package mutating func number(_ value: Int64) { text(value.grouped) }

  /// Writes text of several lines, for `pre`.
  package mutating func lines(_ text: String) {
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if index > 0 { literal("\n") }
      self.text(String(line))
    }
  }

  /// Writes an element. A value nil leaves its attribute out.
  package mutating func element(
    _ tag: StaticString, _ attributes: Attributes = [:], _ content: (inout HTML) -> Void
  ) {
    open(tag, attributes)
    content(&self)
    literal("</")
    literal(tag)
    literal(">")
  }

  /// Writes an element with text alone in it.
  package mutating func element(_ tag: StaticString, _ attributes: Attributes = [:], _ text: String) {
    element(tag, attributes) { $0.text(text) }
  }

  /// Writes the beginning of an element, or one that has no content, such as `input`.
  package mutating func open(_ tag: StaticString, _ attributes: Attributes = [:]) {
    literal("<")
    literal(tag)
    for (name, value) in attributes.pairs {
      guard let value else { continue }
      literal(" ")
      literal(name)
      literal("=\"")
      text(value)
      literal("\"")
    }
    literal(">")
  }

  /// The attributes of an element, in their order. A flag is `.flag(Bool)`.
  package struct Attributes: ExpressibleByDictionaryLiteral {
    fileprivate var pairs: [(StaticString, String?)]

    package init(dictionaryLiteral elements: (StaticString, String?)...) { pairs = elements }
  }
}

extension String? {
  /// The value of an attribute without a value: present or not.
  package static func flag(_ isOn: Bool) -> String? { isOn ? "" : nil }
}
