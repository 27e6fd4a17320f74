internal import AgentCore
internal import AgentModel

/// Looks for access tokens in a body that passes in pieces, so that the program does not get one from a server that repeats
/// what it was sent, now or before.
///
/// The end of a piece is held back as far as it could be the beginning of some token, until the next piece tells. What is held
/// back does not depend on which token it is: otherwise a program could put a guess at the end of a piece, and see by what comes
/// at once how much of it is right. The events of a stream and lines of text pass at once, since no token has a line end.
public struct TokenWatch: ~Copyable {
  private let tokens: UnsafeMutableRawBufferPointer
  private let search: RepeatedToken
  /// What went on last, for a token that began in it; then what is held back.
  private var window: [UInt8] = []
  private var heldBack = 0
  private let longest: Int
  /// A zero has passed: the text may be in UTF-16 or UTF-32.
  private var isWide = false
  /// The longest spelling of a token: `\u0041` for each byte, in UTF-32 four bytes for each of these.
  private var mostKept: Int { longest * (isWide ? 24 : 6) }
  /// The bytes that spell tokens: those of RFC 6750 section 2.1, those of the escapes and of Base64, the zeros of UTF-16,
  /// and these tokens' own.
  private let spelling: Set<UInt8>

  public init(_ tokens: [[UInt8]]) {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: tokens.reduce(0) { $0 + $1.count }, alignment: 1)
    bytes.copyBytes(from: tokens.joined())
    var place = 0
    search = RepeatedToken(
      tokens.map { token in
        defer { place += token.count }
        return UnsafeRawBufferPointer(rebasing: bytes[place..<(place + token.count)])
      })
    self.tokens = bytes
    longest = tokens.map(\.count).max() ?? 0
    spelling = Set("-._~+/=%\\\0".utf8).union(tokens.joined())
  }

  deinit { tokens.deallocate() }

  /// The number of bytes at the end of the text that may be the beginning of a token.
  private func openEnd(of text: UnsafeRawBufferPointer) -> Int {
    var count = 0
    while count < min(text.count, mostKept) {
      let byte = text[text.count - count - 1]
      guard FieldSyntax.isAlphanumeric(byte) || spelling.contains(byte) else { break }
      count += 1
    }
    return count
  }

  /// True if the text has a whole token.
  public func occurs(in text: String) -> Bool {
    var text = text
    return text.withUTF8 { search.occurs(in: UnsafeRawBufferPointer($0)) }
  }

  /// Passes on to `forward` what holds no token; false once a token was found, and then nothing of this piece has gone on.
  /// - Parameter isLast: nothing follows, so that nothing is held back.
  public mutating func pass(
    _ piece: UnsafeRawBufferPointer, isLast: Bool = false, _ forward: (UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    let before = window.count - heldBack
    window += piece
    isWide = isWide || piece.contains(0)
    guard !window.withUnsafeBytes({ search.occurs(in: $0) }) else { return false }
    // What has gone on before can't be held back any more.
    heldBack = isLast ? 0 : min(window.withUnsafeBytes { openEnd(of: $0) }, window.count - before)
    let isForwarded = window.withUnsafeBytes { window in
      let part = UnsafeRawBufferPointer(rebasing: window[before..<(window.count - heldBack)])
      return part.isEmpty || forward(part)
    }
    let surplus = window.count - mostKept - heldBack
    if surplus > 0 { window.removeFirst(surplus) }
    return isForwarded
  }
}
