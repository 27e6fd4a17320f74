/// JSON text as servers send it, made into text that `JSONScanner` reads: the one place that mends an encoding.
///
/// It mends what no reader needs to judge: UTF-16, a byte order mark, bytes that are no UTF-8, control characters in a
/// string, half of a surrogate pair, NULs behind the text. The grammar stays as it is. What can't be known becomes U+FFFD, so
/// that a text with this character in it proves nothing: two different ones may have become the same (`isDoubtful`).
public enum MendedText {
  /// The character that stands for what can't be read.
  public static let replacement: Unicode.Scalar = "\u{FFFD}"

  /// True for a text in which something may have been replaced: it is nobody's name, and no token.
  public static func isDoubtful(_ text: String) -> Bool { text.unicodeScalars.contains(replacement) }

  /// The same for UTF-8 bytes.
  public static func isDoubtful(_ text: UnsafeRawBufferPointer) -> Bool {
    guard text.count >= 3 else { return false }
    return (0...text.count - 3).contains { text[$0] == 0xEF && text[$0 + 1] == 0xBF && text[$0 + 2] == 0xBD }
  }

  /// The count of bytes before the text that are no part of it: a byte order mark (RFC 8259 §8.1), and `)]}'`, which some
  /// servers write so that no page can load the answer as a script.
  public static func prefaceLength(of bytes: UnsafeRawBufferPointer) -> Int {
    var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    let text = bytes[start...].drop { $0 <= 0x20 }
    guard text.starts(with: ")]}'".utf8) else { return start }
    start = text.startIndex + 4
    return start < bytes.count && bytes[start] == UInt8(ascii: ",") ? start + 1 : start
  }

  /// True for a text that begins as an object or a list does, in any of the encodings: no other is worth mending.
  public static func mayBeJSON(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let marks: [UInt8] = [0, 0xFE, 0xFF, 0xEF, 0xBB, 0xBF]
    let first = bytes.first { $0 > 0x20 && !marks.contains($0) }
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }

  /// Passes the bytes of the mended text to `emit`. What is JSON already is passed on unchanged.
  public static func mend(_ bytes: UnsafeRawBufferPointer, _ emit: (UInt8) -> Void) {
    var mending = Mending()
    if let order = UTF16Units.order(of: bytes) {
      var units = UTF16Units(bytes, order)
      var decoder = Unicode.UTF16()
      while let scalar = next(of: &decoder, &units) { mending.read(scalar, emit) }
    } else {
      var rest = bytes.makeIterator()
      var decoder = Unicode.UTF8()
      while let scalar = next(of: &decoder, &rest) { mending.read(scalar, emit) }
    }
    mending.finish(emit)
  }

  /// Reads a public document: as it is if it is JSON, and mended otherwise. Nil if it is none then either, or if `body`
  /// returns nil.
  public static func read<Result>(
    _ document: UnsafeRawBufferPointer, duplicateKeys: JSONScanner.DuplicateKeys = .refused,
    _ body: (JSONNode) -> Result?
  ) -> Result? {
    let text = UnsafeRawBufferPointer(rebasing: document[prefaceLength(of: document)...])
    var tape = JSONTape()
    if (try? JSONScanner.scan(text, onto: &tape, duplicateKeys: duplicateKeys)) != nil {
      return tape.withRoot(of: text) { body($0) }
    }
    var mended: [UInt8] = []
    mend(text) { mended.append($0) }
    return mended.withUnsafeBytes { mended in
      guard (try? JSONScanner.scan(mended, onto: &tape, duplicateKeys: duplicateKeys)) != nil else { return nil }
      return tape.withRoot(of: mended) { body($0) }
    }
  }

  private static func next<Decoder: UnicodeCodec, Units: IteratorProtocol>(
    of decoder: inout Decoder, _ units: inout Units
  ) -> Unicode.Scalar? where Units.Element == Decoder.CodeUnit {
    switch decoder.decode(&units) {
    case .scalarValue(let scalar): scalar
    case .emptyInput: nil
    case .error: replacement
    }
  }
}

/// Reads scalars one by one and keeps no more of them than an escape has: the text may hold secrets.
private struct Mending {
  private enum Place {
    case outside, inside, escape
    /// Some digits of a `\u` were read.
    case unit(Unit, digits: Int)
  }

  /// A unit of UTF-16 with its digits as they stood, four ASCII characters.
  private struct Unit {
    var value: UInt32 = 0
    var digits: UInt32 = 0
  }

  private var place = Place.outside
  /// The first half of a surrogate pair, which waits for the second.
  private var half: Unit?

  mutating func read(_ scalar: Unicode.Scalar, _ emit: (UInt8) -> Void) {
    switch place {
    case .outside:
      guard scalar != "\u{FEFF}", scalar != "\0" else { return }
      if scalar == "\"" { place = .inside }
      write(scalar, emit)
    case .inside: readInside(scalar, emit)
    case .escape: readEscape(scalar, emit)
    case .unit(let unit, let digits):
      guard let text = UInt8(exactly: scalar.value), let digit = JSONText.hexadecimalDigit(text) else {
        // No escape at all: the text stays malformed.
        dropHalf(emit)
        write("\\", emit)
        write("u", emit)
        place = .inside
        return readInside(scalar, emit)
      }
      let longer = Unit(value: unit.value << 4 | digit, digits: unit.digits << 8 | UInt32(text))
      guard digits == 3 else {
        place = .unit(longer, digits: digits + 1)
        return
      }
      place = .inside
      readUnit(longer, emit)
    }
  }

  private mutating func readInside(_ scalar: Unicode.Scalar, _ emit: (UInt8) -> Void) {
    if scalar == "\\" {
      place = .escape
      return
    }
    dropHalf(emit)
    if scalar == "\"" { place = .outside }
    // RFC 8259 §7: control characters must be escaped.
    if scalar.value < 0x20 { writeUnit(scalar.value, emit) } else { write(scalar, emit) }
  }

  private mutating func readEscape(_ scalar: Unicode.Scalar, _ emit: (UInt8) -> Void) {
    if scalar == "u" {
      place = .unit(Unit(), digits: 0)
      return
    }
    place = .inside
    dropHalf(emit)
    // `\'` is of JavaScript, and means the quote alone.
    if scalar != "'" { write("\\", emit) }
    write(scalar, emit)
  }

  private mutating func readUnit(_ unit: Unit, _ emit: (UInt8) -> Void) {
    switch unit.value {
    case 0xD800..<0xDC00:
      dropHalf(emit)
      half = unit
    case 0xDC00..<0xE000:
      if let half {
        write(half, emit)
        write(unit, emit)
      } else {
        writeUnit(MendedText.replacement.value, emit)
      }
      half = nil
    default:
      dropHalf(emit)
      write(unit, emit)
    }
  }

  /// What was begun and has no end stays malformed.
  mutating func finish(_ emit: (UInt8) -> Void) { dropHalf(emit) }

  private mutating func dropHalf(_ emit: (UInt8) -> Void) {
    guard half != nil else { return }
    half = nil
    writeUnit(MendedText.replacement.value, emit)
  }

  private func write(_ scalar: Unicode.Scalar, _ emit: (UInt8) -> Void) { UTF8.encode(scalar)?.forEach(emit) }

  private func write(_ unit: Unit, _ emit: (UInt8) -> Void) {
    emit(UInt8(ascii: "\\"))
    emit(UInt8(ascii: "u"))
    for shift in [24, 16, 8, 0] as [UInt32] { emit(UInt8(unit.digits >> shift & 0xFF)) }
  }

  private func writeUnit(_ unit: UInt32, _ emit: (UInt8) -> Void) {
    emit(UInt8(ascii: "\\"))
    emit(UInt8(ascii: "u"))
    for shift in [12, 8, 4, 0] as [UInt32] {
      let digit = UInt8(unit >> shift & 0xF)
      emit(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
  }
}

/// The code units of a text in UTF-16.
private struct UTF16Units: IteratorProtocol {
  enum Order { case littleEndian, bigEndian }

  private let bytes: UnsafeRawBufferPointer
  private let order: Order
  private var index = 0

  init(_ bytes: UnsafeRawBufferPointer, _ order: Order) {
    self.bytes = bytes
    self.order = order
  }

  /// Nil for a text that is no UTF-16: it has neither a byte order mark nor a NUL beside its first character, which JSON has
  /// from ASCII.
  static func order(of bytes: UnsafeRawBufferPointer) -> Order? {
    guard bytes.count >= 2 else { return nil }
    switch (bytes[0], bytes[1]) {
    case (0xFF, 0xFE): return .littleEndian
    case (0xFE, 0xFF): return .bigEndian
    case (0, let other) where other != 0: return .bigEndian
    case (let other, 0) where other != 0: return .littleEndian
    default: return nil
    }
  }

  mutating func next() -> UInt16? {
    guard index + 1 < bytes.count else { return nil }
    let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
    index += 2
    return order == .bigEndian ? first << 8 | second : second << 8 | first
  }
}
