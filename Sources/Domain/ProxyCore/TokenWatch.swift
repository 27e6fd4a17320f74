internal import AgentCore
internal import AgentModel

/// Looks for an access token in a body that passes in pieces, so that the program does not get it from a server that repeats
/// what it was sent.
///
/// The end of a piece is held back as far as it could be the beginning of some token, until the next piece tells. What is held
/// back does not depend on which token it is: otherwise a program could put a guess at the end of a piece, and see by what comes
/// at once how much of it is right. The events of a stream and lines of text pass at once, since no token has a line end.
public struct TokenWatch: ~Copyable {
  private let token: [UInt8]
  /// What went on last, for a token that began in it; then what is held back.
  private var window: [UInt8] = []
  private var heldBack = 0
  /// The longest spelling of a token: `\u0041` for each byte.
  private var mostKept: Int { token.count * 6 }
  /// The bytes that spell tokens: those of RFC 6750 section 2.1, those of the escapes and of Base64, and this token's own.
  private let spelling: Set<UInt8>

  public init(_ token: [UInt8]) {
    self.token = token
    spelling = Set("-._~+/=%\\".utf8).union(token)
  }

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

  /// True if the text has the whole token.
  public func occurs(in text: String) -> Bool {
    var text = text
    return text.withUTF8 { text in token.withUnsafeBytes { RepeatedToken.occurs($0, in: UnsafeRawBufferPointer(text)) }
    }
  }

  /// Passes on to `forward` what holds no token; false once a token was found, and then nothing of this piece has gone on.
  /// - Parameter isLast: nothing follows, so that nothing is held back.
  public mutating func pass(
    _ piece: UnsafeRawBufferPointer, isLast: Bool = false, _ forward: (UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    let before = window.count - heldBack
    window += piece
    let isFound = token.withUnsafeBytes { token in window.withUnsafeBytes { RepeatedToken.occurs(token, in: $0) } }
    guard !isFound else { return false }
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
