/// Checks a JSON text (RFC 8259) and marks where its values stand.
struct WireScanner {
  /// Deeper texts are refused, so that no answer exhausts the stack.
  static let largestNesting = 256

  private(set) var marks: [WireDocument.Mark] = []
  private let text: UnsafeRawBufferPointer
  private var index = 0

  init(_ text: UnsafeRawBufferPointer) { self.text = text }

  /// True if the text is one JSON value.
  mutating func scan() -> Bool {
    guard text.count <= Int(Int32.max) else { return false }
    marks.reserveCapacity(min(1024, text.count / 8 + 4))
    skipSpace()
    guard scanValue(nesting: 0) else { return false }
    skipSpace()
    return index == text.count
  }

  static func hexadecimal(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private var byte: UInt8? { index < text.count ? text[index] : nil }

  private mutating func take(_ expected: Unicode.Scalar) -> Bool {
    guard byte == UInt8(ascii: expected) else { return false }
    index += 1
    return true
  }

  private mutating func skipSpace() {
    while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
  }

  private mutating func scanValue(nesting: Int) -> Bool {
    switch byte {
    case UInt8(ascii: "\""): return scanString()
    case UInt8(ascii: "{"): return nesting < Self.largestNesting && scanObject(nesting: nesting + 1)
    case UInt8(ascii: "["): return nesting < Self.largestNesting && scanArray(nesting: nesting + 1)
    case UInt8(ascii: "t"): return scanWord("true", .true)
    case UInt8(ascii: "f"): return scanWord("false", .false)
    case UInt8(ascii: "n"): return scanWord("null", .null)
    default: return scanNumber()
    }
  }

  private mutating func mark(_ kind: WireDocument.Mark.Kind, from start: Int, to end: Int) {
    marks.append(.init(kind: kind, start: Int32(start), end: Int32(end), next: Int32(marks.count + 1)))
  }

  private mutating func close(_ mark: Int) -> Bool {
    marks[mark].end = Int32(index)
    marks[mark].next = Int32(marks.count)
    return true
  }

  private mutating func scanWord(_ word: StaticString, _ kind: WireDocument.Mark.Kind) -> Bool {
    let end = index + word.utf8CodeUnitCount
    guard end <= text.count else { return false }
    let matches = word.withUTF8Buffer { $0.elementsEqual(text[index..<end]) }
    mark(kind, from: index, to: end)
    index = end
    return matches
  }

  private mutating func scanObject(nesting: Int) -> Bool {
    let own = marks.count
    mark(.object, from: index, to: index)
    index += 1
    skipSpace()
    if take("}") { return close(own) }
    while true {
      guard scanString() else { return false }
      skipSpace()
      guard take(":") else { return false }
      skipSpace()
      guard scanValue(nesting: nesting) else { return false }
      skipSpace()
      if take("}") { return close(own) }
      guard take(",") else { return false }
      skipSpace()
    }
  }

  private mutating func scanArray(nesting: Int) -> Bool {
    let own = marks.count
    mark(.array, from: index, to: index)
    index += 1
    skipSpace()
    if take("]") { return close(own) }
    while true {
      guard scanValue(nesting: nesting) else { return false }
      skipSpace()
      if take("]") { return close(own) }
      guard take(",") else { return false }
      skipSpace()
    }
  }

  private mutating func scanNumber() -> Bool {
    let start = index
    _ = take("-")
    if !take("0"), !scanDigits() { return false }
    var kind = WireDocument.Mark.Kind.integer
    if take(".") {
      kind = .number
      guard scanDigits() else { return false }
    }
    if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
      kind = .number
      index += 1
      if !take("+") { _ = take("-") }
      guard scanDigits() else { return false }
    }
    mark(kind, from: start, to: index)
    return true
  }

  private mutating func scanDigits() -> Bool {
    let start = index
    while let byte, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { index += 1 }
    return index > start
  }

  private mutating func scanString() -> Bool {
    guard take("\"") else { return false }
    let start = index
    var kind = WireDocument.Mark.Kind.string
    while true {
      skipPlain()
      guard let byte else { return false }
      switch byte {
      case UInt8(ascii: "\""):
        mark(kind, from: start, to: index)
        index += 1
        return true
      case UInt8(ascii: "\\"):
        kind = .escapedString
        guard scanEscape() else { return false }
      case 0..<0x20: return false
      case 0x80...: guard scanMultibyte() else { return false }
      default: index += 1
      }
    }
  }

  /// Skips ASCII without quotes, escapes and control bytes, eight bytes at a time.
  private mutating func skipPlain() {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let tops: UInt64 = 0x8080_8080_8080_8080
    while index + 8 <= text.count {
      let word = text.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let quote = word ^ (ones &* 0x22)
      let backslash = word ^ (ones &* 0x5C)
      // A byte of `(x - 1…1) & ~x` has its top bit if the byte of x is zero; of `x - 0x20…` if it is below 0x20.
      let found = (quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- ones &* 0x20) & ~word | word
      guard found & tops == 0 else { return }
      index += 8
    }
  }

  private mutating func scanEscape() -> Bool {
    index += 1
    guard let byte else { return false }
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return true
    case UInt8(ascii: "u"):
      guard let unit = scanUnit() else { return false }
      if unit & 0xFC00 == 0xDC00 { return false }
      guard unit & 0xFC00 == 0xD800 else { return true }
      guard take("\\"), take("u"), let low = scanUnit() else { return false }
      return low & 0xFC00 == 0xDC00
    default: return false
    }
  }

  private mutating func scanUnit() -> UInt16? {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = byte.flatMap(Self.hexadecimal) else { return nil }
      unit = unit << 4 | UInt16(digit)
      index += 1
    }
    return unit
  }

  /// One scalar of two to four bytes (RFC 3629 §4).
  private mutating func scanMultibyte() -> Bool {
    let first = text[index]
    var second: ClosedRange<UInt8> = 0x80...0xBF
    let more: Int
    switch first {
    case 0xC2...0xDF: more = 1
    case 0xE0: (more, second) = (2, 0xA0...0xBF)
    case 0xED: (more, second) = (2, 0x80...0x9F)
    case 0xE1...0xEF: more = 2
    case 0xF0: (more, second) = (3, 0x90...0xBF)
    case 0xF1...0xF3: more = 3
    case 0xF4: (more, second) = (3, 0x80...0x8F)
    default: return false
    }
    guard index + more < text.count, second.contains(text[index + 1]) else { return false }
    for offset in 2..<(more + 1) {
      guard text[index + offset] & 0xC0 == 0x80 else { return false }
    }
    index += more + 1
    return true
  }
}
