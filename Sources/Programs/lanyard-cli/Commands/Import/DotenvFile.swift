/// The variables of a `.env` file, as shells and the libraries of many languages read it: `NAME=value`, with or without
/// `export`, quotation marks and a comment behind. Lines of any other form are skipped.
struct DotenvFile {
  struct Variable {
    let name: String
    /// The last one, which counts.
    fileprivate(set) var value: HeldBytes
    /// The value is made of other variables or of a command.
    fileprivate(set) var refersToOthers: Bool
    /// A line end is in the value.
    var isBroken: Bool { value.withBytes { $0.contains(0x0A) || $0.contains(0x0D) } }
    /// Of all its settings, from 1.
    fileprivate(set) var lines: [Int]
    /// The bytes of these, whole lines.
    fileprivate(set) var ranges: [Range<Int>]
  }

  /// In the order of their first settings; those without a value are left out.
  private(set) var variables: [Variable] = []

  init(_ contents: HeldBytes) {
    contents.withBytes { bytes in
      var scanner = DotenvScanner(bytes)
      while let setting = scanner.next() {
        if let known = variables.firstIndex(where: { $0.name == setting.name }) {
          variables[known].value = setting.value
          variables[known].refersToOthers = setting.refersToOthers
          variables[known].lines += setting.lines
          variables[known].ranges += setting.ranges
        } else {
          variables.append(setting)
        }
      }
    }
    variables.removeAll { $0.value.isEmpty }
  }
}

/// Reads the settings one by one.
private struct DotenvScanner {
  private let bytes: UnsafeRawBufferPointer
  private var index = 0
  private var line = 1

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    // A byte order mark.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
  }

  mutating func next() -> DotenvFile.Variable? {
    while index < bytes.count {
      let (start, first) = (index, line)
      let setting = setting()
      skipLine()
      guard var setting else { continue }
      setting.lines = Array(first..<line)
      setting.ranges = [start..<index]
      return setting
    }
    return nil
  }

  private func byte(_ place: Int) -> UInt8? { place < bytes.count ? bytes[place] : nil }

  private mutating func skipBlanks() { while byte(index) == 0x20 || byte(index) == 0x09 { index += 1 } }

  /// To the beginning of the next line.
  private mutating func skipLine() {
    while let next = byte(index) {
      index += 1
      if next == 0x0A { break }
    }
    line += 1
  }

  /// Nil if the line sets nothing. `index` ends in its last line.
  private mutating func setting() -> DotenvFile.Variable? {
    skipBlanks()
    var name = word()
    if name == "export", byte(index) == 0x20 || byte(index) == 0x09 {
      skipBlanks()
      name = word()
    }
    skipBlanks()
    guard !name.isEmpty, byte(index) == UInt8(ascii: "=") else { return nil }
    index += 1
    skipBlanks()
    let (value, refers) = quoted() ?? plain()
    return DotenvFile.Variable(name: name, value: value, refersToOthers: refers, lines: [], ranges: [])
  }

  private mutating func word() -> String {
    let start = index
    while let next = byte(index), Self.isOfName(next) { index += 1 }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
    default: false
    }
  }

  /// Up to the mark that closes it; nil without one, and then the mark is a part of the value.
  private mutating func quoted() -> (HeldBytes, refersToOthers: Bool)? {
    guard let mark = byte(index), mark == UInt8(ascii: "\"") || mark == UInt8(ascii: "'") else { return nil }
    let isDouble = mark == UInt8(ascii: "\"")
    let value = HeldBytes()
    var (place, lines, refers) = (index + 1, 0, false)
    while let next = byte(place), next != mark {
      var taken = next
      if isDouble, next == UInt8(ascii: "\\"), let escaped = byte(place + 1) {
        place += 1
        taken = Self.escaped(escaped)
      } else if isDouble, isReference(at: place) {
        refers = true
      }
      if byte(place) == 0x0A { lines += 1 }
      withUnsafeBytes(of: taken) { value.append($0) }
      place += 1
    }
    guard byte(place) == mark else { return nil }
    index = place + 1
    line += lines
    return (value, refers)
  }

  private static func escaped(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: byte
    }
  }

  /// Up to the line's end, or to a comment behind white space.
  private mutating func plain() -> (HeldBytes, refersToOthers: Bool) {
    let start = index
    var (end, refers) = (index, false)
    while let next = byte(index), next != 0x0A {
      let isBlank = next == 0x20 || next == 0x09 || next == 0x0D
      if next == UInt8(ascii: "#"), index == start || end < index { break }
      if isReference(at: index) { refers = true }
      index += 1
      if !isBlank { end = index }
    }
    return (HeldBytes(UnsafeRawBufferPointer(rebasing: bytes[start..<end])), refers)
  }

  /// `${NAME}` or `$(command)`. A dollar sign alone may belong to a key.
  private func isReference(at place: Int) -> Bool {
    byte(place) == UInt8(ascii: "$")
      && (byte(place + 1) == UInt8(ascii: "{") || byte(place + 1) == UInt8(ascii: "("))
  }
}
