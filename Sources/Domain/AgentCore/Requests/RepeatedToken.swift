/// Finds access tokens in what a resource server answers, so that a caller that may not have them does not get one from a
/// server that repeats it (docs/requests.md).
///
/// Found are its bytes, also with the escapes of JSON (RFC 8259 §7) or percent-encoding (RFC 3986 §2.1), and its Base64 at
/// any place of a longer text, as in the credentials of RFC 7617: in UTF-8, and in UTF-16 and UTF-32 of both orders. A
/// server that encodes it otherwise is not found out.
///
/// A text is walked once, whatever the number of tokens is: at each byte only the tokens are compared that can begin there, and
/// only if the next byte can go on with one of them.
public struct RepeatedToken {
  /// A shorter token occurs in texts by chance.
  static let leastBytes = 8

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
    return beginnings.withUnsafeBufferPointer { beginnings in
      for start in 0..<(text.count - 1) {
        let (first, second) = (text[start], text[start + 1])
        let isBeginning = beginnings[Int(first) << 2 | Int(second) >> 6] >> UInt64(second & 63) & 1 != 0
        if isBeginning, isThere(text, at: start) { return true }
      }
      return false
    }
  }

  private func isThere(_ text: Characters, at start: Int) -> Bool {
    if let (byte, _) = Self.character(of: text, at: start) {
      for token in plain[Int(byte)] where Self.isPlain(token, in: text, at: start) { return true }
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

  @inline(__always)
  private static func isPlain(
    _ token: UnsafeRawBufferPointer, in text: Characters, at start: Int
  ) -> Bool {
    var place = start
    for byte in token {
      guard let (read, length) = character(of: text, at: place), read == byte else { return false }
      place += length
    }
    return true
  }

  /// The byte that stands there, and how many bytes spell it.
  @inline(__always)
  private static func character(of text: Characters, at place: Int) -> (UInt8, length: Int)? {
    guard place < text.count else { return nil }
    switch text[place] {
    case UInt8(ascii: "%"):
      guard let byte = hex(text, at: place + 1) else { break }
      return (byte, 3)
    case UInt8(ascii: "\\") where place + 1 < text.count && text[place + 1] == UInt8(ascii: "/"):
      return (UInt8(ascii: "/"), 2)
    case UInt8(ascii: "\\") where place + 1 < text.count && text[place + 1] == UInt8(ascii: "u"):
      guard hex(text, at: place + 2) == 0, let byte = hex(text, at: place + 4) else { break }
      return (byte, 6)
    default: break
    }
    return (text[place], 1)
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
