/// Finds access tokens in what a resource server answers, so that a caller that may not have them does not get one from a
/// server that repeats it (docs/requests.md).
///
/// Found are its bytes, also with the escapes of JSON (RFC 8259 §7) or percent-encoding (RFC 3986 §2.1), and its Base64 at
/// any place of a longer text, as in the credentials of RFC 7617: in UTF-8, and, for a token of ASCII, in UTF-16 and UTF-32
/// of both orders. A password may itself look like an escape, so each character of the text counts as it stands and as
/// what it spells. A server that encodes the token otherwise is not found out.
///
/// A text is walked once, whatever the number of tokens is: at each byte only the tokens are compared that can begin there, and
/// only if the next byte can go on with one of them.
public struct RepeatedToken {
  /// A shorter one occurs in texts by chance. Passwords that people were given may have a few characters.
  static let leastBytes = 4

  /// So often a text is read in more ways than one. A text that has more of them, as one of backslashes alone has for a
  /// secret of backslashes, counts as one with a token.
  private static let mostReadings = 1 << 18

  private let shortest: Int
  /// By the byte that stands there, escaped or not: the tokens that begin with it.
  private var plain = [[UnsafeRawBufferPointer]](repeating: [], count: 256)
  /// By the number that a character of Base64 stands for: the tokens whose Base64 begins with it, after so many bytes of
  /// another text.
  private var encoded = [[(token: UnsafeRawBufferPointer, offset: Int)]](repeating: [], count: 64)
  /// The two bytes with which a spelling can begin: a bit for each second one, 256 for each first one.
  private var beginnings = [UInt64](repeating: 0, count: 1024)

  /// - Parameter tokens: their memory is used as long as this value is.
  public init(_ tokens: [UnsafeRawBufferPointer]) {
    let tokens = tokens.filter { $0.count >= Self.leastBytes }
    shortest = tokens.map(\.count).min() ?? .max
    for token in tokens {
      plain[Int(token[0])].append(token)
      // The second byte may be written as an escape.
      for second in [token[1], UInt8(ascii: "%"), UInt8(ascii: "\\")] { begin(token[0], second) }
      for offset in 0..<3 {
        let skipped = Self.skipped(offset)
        let first = Self.sextet(skipped, of: token, after: offset)
        encoded[Int(first)].append((token, offset))
        let second = Self.sextet(skipped + 1, of: token, after: offset)
        for one in Self.characters[Int(first)] { for next in Self.characters[Int(second)] { begin(one, next) } }
      }
    }
    for escape in "%\\".utf8 where !tokens.isEmpty {
      for second in 0...UInt8.max { begin(escape, second) }
    }
  }

  /// A spelling can begin with these two bytes.
  private mutating func begin(_ first: UInt8, _ second: UInt8) {
    beginnings[Int(first) << 2 | Int(second) >> 6] |= 1 << UInt64(second & 63)
  }

  public static func occurs(_ token: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer) -> Bool {
    text.count >= token.count && RepeatedToken([token]).occurs(in: text)
  }

  /// True if the text has one of the tokens.
  public func occurs(in text: UnsafeRawBufferPointer) -> Bool {
    guard text.count >= shortest else { return false }
    if occurs(in: Characters(text: text, width: 1, first: 0)) { return true }
    // The characters of a token are ASCII: beside each of them UTF-16 and UTF-32 have zeros.
    guard text.contains(0) else { return false }
    return [2, 4].contains { width in
      (0..<width).contains { occurs(in: Characters(text: text, width: width, first: $0)) }
    }
  }

  @inline(__always)
  private func occurs(in text: Characters) -> Bool {
    guard text.count >= shortest else { return false }
    var readings = Self.mostReadings
    return beginnings.withUnsafeBufferPointer { beginnings in
      for start in 0..<(text.count - 1) {
        let (first, second) = (text[start], text[start + 1])
        let isBeginning = beginnings[Int(first) << 2 | Int(second) >> 6] >> UInt64(second & 63) & 1 != 0
        if isBeginning, isThere(text, at: start, &readings) { return true }
      }
      return false
    }
  }

  private func isThere(_ text: Characters, at start: Int, _ readings: inout Int) -> Bool {
    for token in plain[Int(text[start])] where Self.isPlain(token, in: text, at: start, &readings) { return true }
    if let first = Self.escape(in: text, at: start)?.byte(0), first != text[start] {
      for token in plain[Int(first)] where Self.isPlain(token, in: text, at: start, &readings) { return true }
    }
    if let number = Self.value(of: text[start]) {
      for (token, offset) in encoded[Int(number)] where Self.isEncoded(token, after: offset, in: text, at: start) {
        return true
      }
    }
    return false
  }

  /// Each `width`-th byte of a text.
  private struct Characters {
    let text: UnsafeRawBufferPointer
    let width: Int
    let first: Int

    @inline(__always) var count: Int { (text.count - first + width - 1) / width }
    @inline(__always) subscript(index: Int) -> UInt8 { text[first + index * width] }
  }

  // MARK: plain

  /// What was read of the token, and of the text.
  private struct Reading: Hashable {
    var token = 0
    var text: Int
  }

  @inline(__always)
  private static func isPlain(
    _ token: UnsafeRawBufferPointer, in text: Characters, at start: Int, _ readings: inout Int
  ) -> Bool {
    var reading = Reading(text: start)
    while reading.token < token.count {
      let escape = escape(in: text, at: reading.text)
      guard let escape, escape.isSpelled(in: token, at: reading.token) else {
        guard reading.text < text.count, text[reading.text] == token[reading.token] else { return false }
        reading = Reading(token: reading.token + 1, text: reading.text + 1)
        continue
      }
      if text[reading.text] == token[reading.token] { return isAmbiguous(token, in: text, from: reading, &readings) }
      reading = Reading(token: reading.token + escape.count, text: reading.text + escape.length)
    }
    return true
  }

  /// The rest of a token where the text can be read in two ways, each of them tried once.
  private static func isAmbiguous(
    _ token: UnsafeRawBufferPointer, in text: Characters, from first: Reading, _ readings: inout Int
  ) -> Bool {
    var (left, seen) = ([first], Set([first]))
    while let reading = left.popLast() {
      readings -= 1
      guard reading.token < token.count, readings > 0 else { return true }
      var next: [Reading] = []
      if reading.text < text.count, text[reading.text] == token[reading.token] {
        next.append(Reading(token: reading.token + 1, text: reading.text + 1))
      }
      if let escape = escape(in: text, at: reading.text), escape.isSpelled(in: token, at: reading.token) {
        next.append(Reading(token: reading.token + escape.count, text: reading.text + escape.length))
      }
      for reading in next where seen.insert(reading).inserted { left.append(reading) }
    }
    return false
  }

  /// An escape of percent-encoding or of JSON.
  private struct Escape {
    /// The bytes that it spells: those of a scalar of UTF-8, or one byte of them; the first one comes last.
    private let packed: UInt32
    let count: Int
    /// The characters that spell them.
    let length: Int

    init(_ byte: UInt8, length: Int) { (packed, count, self.length) = (UInt32(byte), 1, length) }

    init(_ scalar: Unicode.Scalar, length: Int) {
      let bytes = Array(String(scalar).utf8)
      packed = bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
      (count, self.length) = (bytes.count, length)
    }

    @inline(__always) func byte(_ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: packed >> (8 * UInt32(index))) }

    @inline(__always) func isSpelled(in token: UnsafeRawBufferPointer, at place: Int) -> Bool {
      guard place + count <= token.count else { return false }
      return (0..<count).allSatisfy { token[place + $0] == byte($0) }
    }
  }

  /// The escape that begins there.
  @inline(__always)
  private static func escape(in text: Characters, at place: Int) -> Escape? {
    guard place + 1 < text.count else { return nil }
    switch text[place] {
    case UInt8(ascii: "%"): return hex(text, at: place + 1).map { Escape($0, length: 3) }
    case UInt8(ascii: "\\"):
      switch text[place + 1] {
      case UInt8(ascii: "/"), UInt8(ascii: "\""), UInt8(ascii: "\\"): return Escape(text[place + 1], length: 2)
      case UInt8(ascii: "u"): return scalar(in: text, at: place)
      default: return nil
      }
    default: return nil
    }
  }

  /// `\u` and four digits, twice for a scalar beyond the first plane.
  private static func scalar(in text: Characters, at place: Int) -> Escape? {
    func unit(_ place: Int) -> UInt16? {
      guard place + 1 < text.count, text[place] == UInt8(ascii: "\\"), text[place + 1] == UInt8(ascii: "u"),
        let high = hex(text, at: place + 2), let low = hex(text, at: place + 4)
      else { return nil }
      return UInt16(high) << 8 | UInt16(low)
    }
    guard let first = unit(place) else { return nil }
    if let scalar = Unicode.Scalar(first) { return Escape(scalar, length: 6) }
    guard UTF16.isLeadSurrogate(first), let second = unit(place + 6), UTF16.isTrailSurrogate(second) else { return nil }
    let number = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
    return Unicode.Scalar(number).map { Escape($0, length: 12) }
  }

  @inline(__always)
  private static func hex(_ text: Characters, at place: Int) -> UInt8? {
    guard place + 1 < text.count, let high = digit(text[place]), let low = digit(text[place + 1]) else { return nil }
    return high << 4 | low
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  // MARK: Base64

  /// `offset`: the bytes of another text that share the token's first group. Compared are the characters that the token
  /// alone decides.
  private static func isEncoded(
    _ token: UnsafeRawBufferPointer, after offset: Int, in text: Characters, at start: Int
  ) -> Bool {
    let skipped = skipped(offset)
    let count = (offset + token.count) * 8 / 6 - skipped
    guard text.count - start >= count else { return false }
    return (0..<count).allSatisfy {
      value(of: text[start + $0]) == sextet(skipped + $0, of: token, after: offset)
    }
  }

  /// The characters that the other text decides, in whole or in part.
  private static func skipped(_ offset: Int) -> Int { offset == 0 ? 0 : offset + 1 }

  /// The number that the character at `index` of the token's Base64 stands for.
  private static func sextet(_ index: Int, of token: UnsafeRawBufferPointer, after offset: Int) -> UInt8 {
    func byte(_ place: Int) -> UInt16 { token.indices.contains(place - offset) ? UInt16(token[place - offset]) : 0 }
    let (place, shift) = (index * 6 / 8, index * 6 % 8)
    return UInt8((byte(place) << 8 | byte(place + 1)) >> (10 - UInt16(shift)) & 63)
  }

  /// By the number that they stand for.
  private static let characters: [[UInt8]] = (0..<64).map { number in
    (0...UInt8.max).filter { value(of: $0) == number }
  }

  /// Of both alphabets (RFC 4648 §4, §5).
  private static func value(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
    case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
