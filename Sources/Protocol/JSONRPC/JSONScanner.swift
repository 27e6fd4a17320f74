/// Scans one JSON value strictly (RFC 8259) and records the positions of its parts on a tape.
///
/// Foundation's parsers accept trailing commas, byte order marks, UTF-16 and duplicate keys, skip invalid UTF-8 in
/// members that are not decoded, and rewrite numbers. A boundary that protects secrets must not, so this scanner checks
/// every byte of a line. It allocates only the tape.
public struct JSONScanner {
  /// Maximum nesting depth, announced by `agent.hello`. Deeper lines are answered with -32700.
  public static let maximumDepth = 64

  /// Why a line is not JSON. It contains no input, so that input is never echoed.
  public enum Failure: Error, Sendable {
    case malformed, incomplete, tooDeep
    /// It is JSON, all of which is on the tape, and an object names one member twice.
    case duplicateKeys
  }

  /// What becomes of a text in which an object names one member twice, whose meaning RFC 8259 §4 leaves open: readers
  /// could disagree.
  public enum DuplicateKeys: Sendable {
    case refused
    /// For what others write, where the reader decides by `hasDuplicateKeys`, or takes the first of them.
    case allowed
  }

  private let bytes: UnsafePointer<UInt8>
  private let count: Int
  private var position = 0

  private init(_ bytes: UnsafeRawBufferPointer) {
    // An empty buffer may have no address; nothing is read through this substitute.
    self.bytes = (bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!).assumingMemoryBound(to: UInt8.self)
    self.count = bytes.count
  }

  /// Scans one value, optionally surrounded by white space. On failure the tape holds the values read so far.
  ///
  /// - Throws: `Failure`; `.incomplete` if the bytes are the beginning of a value.
  public static func scan(
    _ bytes: UnsafeRawBufferPointer, onto tape: inout JSONTape, duplicateKeys: DuplicateKeys = .refused
  ) throws(Failure) {
    tape.entries.removeAll(keepingCapacity: true)
    tape.hasDuplicateKeys = false
    var scanner = JSONScanner(bytes)
    scanner.skipWhitespace()
    try scanner.value(depth: 0, onto: &tape)
    scanner.skipWhitespace()
    guard scanner.position == scanner.count else { throw .malformed }
    if duplicateKeys == .refused, tape.hasDuplicateKeys { throw .duplicateKeys }
  }

  /// The index of the byte at which `bytes` stop being one JSON value; nil if they are one.
  public static func failurePosition(in bytes: UnsafeRawBufferPointer) -> Int? {
    var tape = JSONTape()
    var scanner = JSONScanner(bytes)
    scanner.skipWhitespace()
    do throws(Failure) { try scanner.value(depth: 0, onto: &tape) } catch { return scanner.position }
    scanner.skipWhitespace()
    return scanner.position == scanner.count ? nil : scanner.position
  }

  private var failureHere: Failure { position >= count ? .incomplete : .malformed }

  @inline(__always)
  private mutating func skipWhitespace() {
    while position < count {
      switch bytes[position] {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): position += 1
      default: return
      }
    }
  }

  private mutating func value(depth: Int, onto tape: inout JSONTape) throws(Failure) {
    guard position < count else { throw .incomplete }
    switch bytes[position] {
    case UInt8(ascii: "{"): try object(depth: depth + 1, onto: &tape)
    case UInt8(ascii: "["): try array(depth: depth + 1, onto: &tape)
    case UInt8(ascii: "\""): try string(onto: &tape)
    case UInt8(ascii: "t"): try literal("true", .true, onto: &tape)
    case UInt8(ascii: "f"): try literal("false", .false, onto: &tape)
    case UInt8(ascii: "n"): try literal("null", .null, onto: &tape)
    default: try number(onto: &tape)
    }
  }

  @inline(__always)
  private func append(_ kind: JSONTapeEntry.Kind, from start: Int, escaped: Bool = false, onto tape: inout JSONTape) {
    let next = UInt32(truncatingIfNeeded: tape.entries.count + 1)
    tape.entries.append(
      JSONTapeEntry(
        kind: kind, escaped: escaped, duplicateKeys: false, start: UInt32(truncatingIfNeeded: start),
        end: UInt32(truncatingIfNeeded: position), next: next))
  }

  private func close(_ index: Int, onto tape: inout JSONTape) {
    tape.entries[index].end = UInt32(truncatingIfNeeded: position)
    tape.entries[index].next = UInt32(truncatingIfNeeded: tape.entries.count)
  }

  private mutating func object(depth: Int, onto tape: inout JSONTape) throws(Failure) {
    guard depth <= Self.maximumDepth else { throw .tooDeep }
    let index = tape.entries.count
    append(.object, from: position, onto: &tape)
    position += 1
    skipWhitespace()
    var members = 0
    if position < count, bytes[position] == UInt8(ascii: "}") {
      position += 1
    } else {
      while true {
        guard position < count, bytes[position] == UInt8(ascii: "\"") else { throw failureHere }
        try string(onto: &tape)
        skipWhitespace()
        guard position < count, bytes[position] == UInt8(ascii: ":") else { throw failureHere }
        position += 1
        skipWhitespace()
        try value(depth: depth, onto: &tape)
        members += 1
        skipWhitespace()
        guard position < count else { throw .incomplete }
        if bytes[position] == UInt8(ascii: "}") {
          position += 1
          break
        }
        guard bytes[position] == UInt8(ascii: ",") else { throw .malformed }
        position += 1
        skipWhitespace()
      }
    }
    close(index, onto: &tape)
    if members > 1, KeyComparison.hasDuplicates(inObjectAt: index, members: members, of: tape.entries, bytes: bytes) {
      tape.entries[index].duplicateKeys = true
      tape.hasDuplicateKeys = true
    }
  }

  private mutating func array(depth: Int, onto tape: inout JSONTape) throws(Failure) {
    guard depth <= Self.maximumDepth else { throw .tooDeep }
    let index = tape.entries.count
    append(.array, from: position, onto: &tape)
    position += 1
    skipWhitespace()
    if position < count, bytes[position] == UInt8(ascii: "]") {
      position += 1
    } else {
      while true {
        try value(depth: depth, onto: &tape)
        skipWhitespace()
        guard position < count else { throw .incomplete }
        if bytes[position] == UInt8(ascii: "]") {
          position += 1
          break
        }
        guard bytes[position] == UInt8(ascii: ",") else { throw .malformed }
        position += 1
        skipWhitespace()
      }
    }
    close(index, onto: &tape)
  }

  private mutating func literal(
    _ text: StaticString, _ kind: JSONTapeEntry.Kind, onto tape: inout JSONTape
  ) throws(Failure) {
    let start = position
    for offset in 0..<text.utf8CodeUnitCount {
      guard position < count else { throw .incomplete }
      guard bytes[position] == text.utf8Start[offset] else { throw .malformed }
      position += 1
    }
    append(kind, from: start, onto: &tape)
  }

  /// RFC 8259 §6: no leading zeros, no plus sign, digits on both sides of the point. The number keeps its spelling.
  private mutating func number(onto tape: inout JSONTape) throws(Failure) {
    let start = position
    if bytes[position] == UInt8(ascii: "-") { position += 1 }
    guard position < count else { throw .incomplete }
    if bytes[position] == UInt8(ascii: "0") {
      position += 1
    } else {
      try digits()
    }
    if position < count, bytes[position] == UInt8(ascii: ".") {
      position += 1
      try digits()
    }
    if position < count, bytes[position] | 0x20 == UInt8(ascii: "e") {
      position += 1
      if position < count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
        position += 1
      }
      try digits()
    }
    append(.number, from: start, onto: &tape)
  }

  private mutating func digits() throws(Failure) {
    let start = position
    while position < count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
    guard position > start else { throw failureHere }
  }

  private mutating func string(onto tape: inout JSONTape) throws(Failure) {
    let start = position
    var escaped = false
    position += 1
    while true {
      skipPlainCharacters()
      guard position < count else { throw .incomplete }
      let byte = bytes[position]
      if byte == UInt8(ascii: "\"") {
        position += 1
        break
      } else if byte == UInt8(ascii: "\\") {
        escaped = true
        try escape()
      } else if byte < 0x20 {
        throw .malformed  // RFC 8259 §7: control characters must be escaped
      } else if byte < 0x80 {
        position += 1
      } else {
        try multibyte(byte)
      }
    }
    append(.string, from: start, escaped: escaped, onto: &tape)
  }

  /// Skips characters of a string that need no look, eight at a time, and may leave some of the last ones. A long string
  /// is read on the thread that all clients share.
  private mutating func skipPlainCharacters() {
    let ones: UInt64 = 0x0101_0101_0101_0101
    while count - position >= 8 {
      let word = UnsafeRawPointer(bytes + position).loadUnaligned(as: UInt64.self).littleEndian
      let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
      let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
      // The highest bit of a byte says that it is 0, 0, below 0x20, or above 0x7F. A borrow can set it wrongly, but only
      // in bytes behind one for which it is right.
      let isQuote = (quote &- ones) & ~quote
      let isBackslash = (backslash &- ones) & ~backslash
      let isControl = (word &- (ones &* 0x20)) & ~word
      let found = (isQuote | isBackslash | isControl | word) & (ones &* 0x80)
      guard found == 0 else {
        position += found.trailingZeroBitCount / 8
        return
      }
      position += 8
    }
  }

  private mutating func escape() throws(Failure) {
    position += 1
    guard position < count else { throw .incomplete }
    switch bytes[position] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 1
    case UInt8(ascii: "u"):
      position += 1
      let unit = try hexadecimal()
      switch unit {
      case 0xD800..<0xDC00:  // a high surrogate must precede a low one
        guard position < count else { throw .incomplete }
        guard bytes[position] == UInt8(ascii: "\\") else { throw .malformed }
        position += 1
        guard position < count else { throw .incomplete }
        guard bytes[position] == UInt8(ascii: "u") else { throw .malformed }
        position += 1
        guard case 0xDC00..<0xE000 = try hexadecimal() else { throw .malformed }
      case 0xDC00..<0xE000: throw .malformed
      default: break
      }
    default: throw .malformed
    }
  }

  private mutating func hexadecimal() throws(Failure) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard position < count else { throw .incomplete }
      guard let digit = JSONText.hexadecimalDigit(bytes[position]) else { throw .malformed }
      unit = unit << 4 | digit
      position += 1
    }
    return unit
  }

  /// RFC 3629 §4: no overlong form, no surrogate, nothing above U+10FFFF.
  private mutating func multibyte(_ lead: UInt8) throws(Failure) {
    let (length, second): (Int, ClosedRange<UInt8>)
    switch lead {
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xE1...0xEC, 0xEE...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: throw .malformed
    }
    position += 1
    guard position < count else { throw .incomplete }
    guard second.contains(bytes[position]) else { throw .malformed }
    position += 1
    for _ in 2..<max(length, 2) {
      guard position < count else { throw .incomplete }
      guard bytes[position] & 0xC0 == 0x80 else { throw .malformed }
      position += 1
    }
  }
}
