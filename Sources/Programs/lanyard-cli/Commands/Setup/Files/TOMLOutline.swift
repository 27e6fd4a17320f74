import JSONRPC

/// The tables and keys of a TOML file (TOML 1.0.0), without their values.
struct TOMLOutline {
  private(set) var tables: [[String]] = []
  /// Each key with the name of its table before it.
  private(set) var keys: [[String]] = []

  /// Nil for what is no TOML. Values are only skipped: of a number and a date only the characters are looked at.
  init?(_ text: String) {
    var reader = TOMLReader(text)
    var table: [String] = []
    var given = Given()
    while true {
      reader.skipBlankLines()
      guard let first = reader.byte else { return }
      if first == UInt8(ascii: "[") {
        guard let (name, isArray) = reader.header(), given.addTable(name, isArray: isArray) else { return nil }
        table = name
        tables.append(name)
      } else {
        guard let key = reader.key(), reader.skip(UInt8(ascii: "=")), reader.skipValue(), given.addKey(table + key)
        else { return nil }
        keys.append(table + key)
      }
      guard reader.endLine() else { return nil }
    }
  }

  /// True if the table, a table or a key in it, or a value in the place of a table above it is there.
  func has(_ table: [String]) -> Bool {
    tables.contains { $0.starts(with: table) } || keys.contains { $0.starts(with: table) || table.starts(with: $0) }
  }
}

/// What may not be given once more.
private struct Given {
  private var tables: Set<[String]> = []
  private var keys: Set<[String]> = []

  /// False for a table that is there, and for one in the place of a value.
  mutating func addTable(_ name: [String], isArray: Bool) -> Bool {
    guard !keys.contains(where: { name.starts(with: $0) }) else { return false }
    guard isArray else { return tables.insert(name).inserted }
    guard !tables.contains(name) else { return false }
    // Another element of the array, which has tables and keys of its own.
    tables = tables.filter { !$0.starts(with: name) }
    keys = keys.filter { !$0.starts(with: name) }
    return true
  }

  /// False for a key that is there, or that is a table of another one.
  mutating func addKey(_ name: [String]) -> Bool {
    guard !keys.contains(where: { $0.starts(with: name) || name.starts(with: $0) }) else { return false }
    return keys.insert(name).inserted
  }
}

/// Reads the tokens of a TOML file, byte by byte.
private struct TOMLReader {
  private let text: [UInt8]
  private var place: Int
  /// Arrays and inline tables in each other: more than any person writes.
  private static let greatestDepth = 64

  init(_ text: String) {
    self.text = Array(text.utf8)
    place = self.text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
  }

  var byte: UInt8? { place < text.count ? text[place] : nil }

  private mutating func skipSpaces() {
    while let byte, byte == 0x20 || byte == 0x09 { place += 1 }
  }

  private mutating func skipComment() {
    guard byte == UInt8(ascii: "#") else { return }
    while let byte, byte != 0x0A { place += 1 }
  }

  mutating func skipBlankLines() {
    while true {
      skipSpaces()
      skipComment()
      guard let byte, byte == 0x0A || byte == 0x0D else { return }
      place += 1
    }
  }

  mutating func endLine() -> Bool {
    skipSpaces()
    skipComment()
    if byte == 0x0D { place += 1 }
    guard byte != nil else { return true }
    return skip(0x0A)
  }

  mutating func skip(_ expected: UInt8) -> Bool {
    if expected != 0x0A { skipSpaces() }
    guard byte == expected else { return false }
    place += 1
    return true
  }

  /// The name in `[a.b]` or `[[a.b]]`.
  mutating func header() -> (name: [String], isArray: Bool)? {
    guard skip(UInt8(ascii: "[")) else { return nil }
    let isArray = byte == UInt8(ascii: "[")
    if isArray { place += 1 }
    guard let name = key(), skip(UInt8(ascii: "]")), !isArray || skip(UInt8(ascii: "]")) else { return nil }
    return (name, isArray)
  }

  /// `a.b`, `a."b c"`.
  mutating func key() -> [String]? {
    var names: [String] = []
    repeat {
      skipSpaces()
      guard let name = simpleKey() else { return nil }
      names.append(name)
    } while skip(UInt8(ascii: "."))
    return names
  }

  private mutating func simpleKey() -> String? {
    let start = place
    guard let quote = byte else { return nil }
    if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
      guard skipString() else { return nil }
      let inside = String(decoding: text[(start + 1)..<(place - 1)], as: UTF8.self)
      guard quote == UInt8(ascii: "\""), inside.contains("\\") else { return inside }
      return JSONInput.read("{\"\(inside)\":0}") { $0.members.map { $0.key.string ?? inside }.first ?? inside }
        ?? inside
    }
    while let byte, isBare(byte) { place += 1 }
    return place > start ? String(decoding: text[start..<place], as: UTF8.self) : nil
  }

  private func isBare(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
    default: false
    }
  }

  mutating func skipValue(depth: Int = 0) -> Bool {
    skipSpaces()
    guard let first = byte, depth < Self.greatestDepth else { return false }
    switch first {
    case UInt8(ascii: "\""), UInt8(ascii: "'"): return skipString()
    case UInt8(ascii: "["): return skipArray(depth)
    case UInt8(ascii: "{"): return skipInlineTable(depth)
    default:
      let start = place
      while let byte, byte > 0x20, !",]}#".utf8.contains(byte) { place += 1 }
      // A date and its time may have a space between them.
      if byte == 0x20, place - start == 10, place + 1 < text.count, (0x30...0x39).contains(text[place + 1]) {
        place += 1
        while let byte, byte > 0x20, !",]}#".utf8.contains(byte) { place += 1 }
      }
      return Self.isBareValue(text[start..<place])
    }
  }

  /// `true`, `-inf`, or what has the characters of a number or a date.
  private static func isBareValue(_ value: ArraySlice<UInt8>) -> Bool {
    if value.elementsEqual("true".utf8) || value.elementsEqual("false".utf8) { return true }
    let isSigned = value.first == UInt8(ascii: "+") || value.first == UInt8(ascii: "-")
    let number = isSigned ? value.dropFirst() : value
    if number.elementsEqual("inf".utf8) || number.elementsEqual("nan".utf8) { return true }
    guard let first = number.first, (0x30...0x39).contains(first) else { return false }
    return number.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte & 0xDF) || "oxTtZz_+-.: ".utf8.contains(byte)
    }
  }

  private mutating func skipArray(_ depth: Int) -> Bool {
    place += 1
    while true {
      skipBlankLines()
      if skip(UInt8(ascii: "]")) { return true }
      guard skipValue(depth: depth + 1) else { return false }
      skipBlankLines()
      if skip(UInt8(ascii: ",")) { continue }
      return skip(UInt8(ascii: "]"))
    }
  }

  private mutating func skipInlineTable(_ depth: Int) -> Bool {
    place += 1
    while true {
      skipBlankLines()
      if skip(UInt8(ascii: "}")) { return true }
      guard key() != nil, skip(UInt8(ascii: "=")), skipValue(depth: depth + 1) else { return false }
      skipBlankLines()
      if skip(UInt8(ascii: ",")) { continue }
      return skip(UInt8(ascii: "}"))
    }
  }

  /// A string of any of the four kinds.
  private mutating func skipString() -> Bool {
    guard let quote = byte else { return false }
    let isLong = place + 2 < text.count && text[place + 1] == quote && text[place + 2] == quote
    let isBasic = quote == UInt8(ascii: "\"")
    place += isLong ? 3 : 1
    while let now = byte {
      if now == UInt8(ascii: "\\"), isBasic {
        let next = place + 1 < text.count ? text[place + 1] : 0
        // A line of a long string goes on behind it.
        guard "btnfreuUx\"\\".utf8.contains(next) || isLong && " \t\r\n".utf8.contains(next) else { return false }
        place += 2
      } else if now == quote, !isLong {
        place += 1
        return true
      } else if now == quote, place + 2 < text.count, text[place + 1] == quote, text[place + 2] == quote {
        place += 3
        // Up to two quotation marks may stand before the end.
        while byte == quote { place += 1 }
        return true
      } else if now == 0x0A && !isLong || now == 0x7F || now < 0x20 && ![0x09, 0x0A, 0x0D].contains(now) {
        return false
      } else {
        place += 1
      }
    }
    return false
  }
}
