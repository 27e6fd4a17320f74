internal import AgentCore

/// Looks for an access token in a body that passes in pieces, so that the program does not get it from a server that repeats
/// what it was sent.
///
/// The beginning of a token at the end of a piece is held back until the next piece tells. So a token in two pieces is found
/// before its first half has gone on, and everything else passes at once.
public struct TokenWatch: ~Copyable {
  /// How much of a token goes on before it counts as its beginning: the first bytes of many are the same, such as `eyJhbGci`.
  static let harmlessBytes = 4

  private let token: [UInt8]
  /// What went on last, for a token that began in it; then what is held back.
  private var window: [UInt8] = []
  private var heldBack = 0
  /// The longest spelling of a token: `\u0041` for each byte.
  private var mostKept: Int { token.count * 6 }

  public init(_ token: [UInt8]) { self.token = token }

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
    let (isFound, open) = token.withUnsafeBytes { token in
      window.withUnsafeBytes { window in
        let isFound = RepeatedToken.occurs(token, in: window)
        return (
          isFound, isFound || isLast ? 0 : RepeatedToken.openEnd(of: window, for: token, atLeast: Self.harmlessBytes)
        )
      }
    }
    guard !isFound else { return false }
    // What has gone on before can't be held back any more.
    heldBack = min(open, window.count - before)
    let isForwarded = window.withUnsafeBytes { window in
      let part = UnsafeRawBufferPointer(rebasing: window[before..<(window.count - heldBack)])
      return part.isEmpty || forward(part)
    }
    let surplus = window.count - mostKept - heldBack
    if surplus > 0 { window.removeFirst(surplus) }
    return isForwarded
  }
}
