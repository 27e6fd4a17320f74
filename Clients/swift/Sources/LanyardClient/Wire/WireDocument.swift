/// A line that was parsed: its bytes, and where its values stand in them.
///
/// Values are read from the bytes when they are asked for, so that a secret goes from here to a ``Secret`` without a
/// string in between. The bytes are wiped with the document.
package final class WireDocument: Sendable {
  /// One value: the bytes of its text, without the quotes of a string.
  struct Mark {
    enum Kind: UInt8 { case null, `true`, `false`, integer, number, string, escapedString, array, object }
    var kind: Kind
    var start: Int32
    var end: Int32
    /// The index of the mark behind this value and all that it holds.
    var next: Int32
  }

  let line: WireBuffer
  let marks: [Mark]

  /// - Throws: `protocolError`, without the cause: it would hold a part of the line.
  init(parsing line: WireBuffer) throws(LanyardError) {
    let scanned = line.withBytes { bytes in
      var scanner = WireScanner(bytes)
      return scanner.scan() ? scanner.marks : nil
    }
    guard let scanned else { throw LanyardError(.protocolError, "a line of the agent is not JSON") }
    self.line = line
    marks = scanned
  }

  package var root: WireNode { WireNode(document: self, index: 0) }
}

/// One value of a document.
package struct WireNode: Sendable {
  let document: WireDocument
  let index: Int

  var mark: WireDocument.Mark { document.marks[index] }

  /// Passes the bytes of the value's text to `body`, without the quotes of a string.
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    let mark = mark
    return document.line.withBytes { body(UnsafeRawBufferPointer(rebasing: $0[Int(mark.start)..<Int(mark.end)])) }
  }

  /// The bytes as text, as they stand in the line.
  private var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }

  var isNull: Bool { mark.kind == .null }

  var string: String? {
    switch mark.kind {
    case .string: text
    case .escapedString: withBytes(Self.unescaped).text
    default: nil
    }
  }

  var secret: Secret? {
    switch mark.kind {
    case .string:
      withBytes { bytes in
        let copy = WireBuffer(capacity: bytes.count)
        copy.append(bytes)
        return Secret(bytes: copy)
      }
    case .escapedString: Secret(bytes: withBytes(Self.unescaped))
    default: nil
    }
  }

  var integer: Int? {
    guard mark.kind == .integer else { return nil }
    return Int(text)
  }

  var bool: Bool? {
    switch mark.kind {
    case .true: true
    case .false: false
    default: nil
    }
  }

  /// The member of an object; nil if there is none.
  subscript(name: String) -> WireNode? {
    guard mark.kind == .object else { return nil }
    var key = index + 1
    let end = Int(mark.next)
    while key < end {
      let value = WireNode(document: document, index: key + 1)
      if WireNode(document: document, index: key).isText(name) { return value }
      key = Int(value.mark.next)
    }
    return nil
  }

  /// True if this is a string with this text.
  func isText(_ text: String) -> Bool {
    guard mark.kind == .string else { return string == text }
    var text = text
    return text.withUTF8 { other in withBytes { $0.count == other.count && $0.elementsEqual(other) } }
  }

  /// The keys and values of an object, in their order.
  var members: [(key: WireNode, value: WireNode)] {
    guard mark.kind == .object else { return [] }
    var members: [(key: WireNode, value: WireNode)] = []
    var key = index + 1
    let end = Int(mark.next)
    while key < end {
      let value = WireNode(document: document, index: key + 1)
      members.append((WireNode(document: document, index: key), value))
      key = Int(value.mark.next)
    }
    return members
  }

  /// The elements of an array, in their order.
  var elements: [WireNode] {
    guard mark.kind == .array else { return [] }
    var elements: [WireNode] = []
    var element = index + 1
    let end = Int(mark.next)
    while element < end {
      elements.append(WireNode(document: document, index: element))
      element = Int(document.marks[element].next)
    }
    return elements
  }

  package var json: JSON {
    switch mark.kind {
    case .null: .null
    case .true: .bool(true)
    case .false: .bool(false)
    case .integer: integer.map(JSON.integer) ?? number
    case .number: number
    case .string, .escapedString: .string(string ?? "")
    case .array: .array(elements.map(\.json))
    case .object:
      .object(Dictionary(members.map { ($0.key.string ?? "", $0.value.json) }) { _, last in last })
    }
  }

  private var number: JSON { .number(Double(text) ?? .nan) }

  /// The text of a string with escapes. The scanner has checked them.
  private static func unescaped(_ text: UnsafeRawBufferPointer) -> WireBuffer {
    let plain = WireBuffer(capacity: text.count)
    var index = 0
    while index < text.count {
      guard text[index] == UInt8(ascii: "\\") else {
        plain.append(text[index])
        index += 1
        continue
      }
      let escape = text[index + 1]
      index += 2
      switch escape {
      case UInt8(ascii: "b"): plain.append(0x08)
      case UInt8(ascii: "f"): plain.append(0x0C)
      case UInt8(ascii: "n"): plain.append(0x0A)
      case UInt8(ascii: "r"): plain.append(0x0D)
      case UInt8(ascii: "t"): plain.append(0x09)
      case UInt8(ascii: "u"):
        var value = unit(text, at: index)
        index += 4
        if value & 0xFC00 == 0xD800 {
          value = 0x10000 + (value & 0x3FF) << 10 + (unit(text, at: index + 2) & 0x3FF)
          index += 6
        }
        let scalar = Unicode.Scalar(value) ?? Unicode.Scalar(0xFFFD)!
        for byte in UTF8.encode(scalar)! { plain.append(byte) }
      default: plain.append(escape)
      }
    }
    return plain
  }

  private static func unit(_ text: UnsafeRawBufferPointer, at index: Int) -> UInt32 {
    (0..<4).reduce(0) { $0 << 4 | UInt32(WireScanner.hexadecimal(text[index + $1]) ?? 0) }
  }
}
