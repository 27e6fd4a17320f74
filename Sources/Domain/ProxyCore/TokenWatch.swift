internal import AgentCore
internal import AgentModel
public import Secrets

/// Looks for access tokens in a body that passes in pieces, so that the program does not get one from a server that repeats
/// what it was sent, now or before.
///
/// The end of a piece is held back as far as it could be the beginning of some token, until the next piece tells. What is held
/// back does not depend on which token it is: otherwise a program could put a guess at the end of a piece, and see by what comes
/// at once how much of it is right. The events of a stream and lines of text pass at once, since no token has a line end.
public struct TokenWatch: ~Copyable {
  /// Their memory, which `search` reads.
  private let tokens: [Secret]
  private let search: RepeatedToken
  /// What is held back, in guarded memory: it may be a whole token and the beginning of another one.
  private var window = SecretBuilder(isPassing: true)
  private let longest: Int
  /// A zero has passed: the text may be in UTF-16 or UTF-32. No more than three bytes of a token in these stand before it.
  private var isWide = false
  /// The longest spelling of a token: `\u0041` for each byte, in UTF-32 four bytes for each of these.
  private var mostKept: Int { longest * (isWide ? 24 : 6) }
  /// The bytes that spell tokens: those of RFC 6750 section 2.1, those of the escapes and of Base64, the zeros of UTF-16,
  /// and these tokens' own.
  private let spells: [Bool]

  public init(_ tokens: [Secret]) {
    self.tokens = tokens
    longest = tokens.map(\.count).max() ?? 0
    // A secret stays at its place as long as it is there.
    search = RepeatedToken(tokens.map { $0.withBytes { $0 } })
    var spells = (0...UInt8.max).map { FieldSyntax.isAlphanumeric($0) }
    for byte in "-._~+/=%\\\0".utf8 { spells[Int(byte)] = true }
    for token in tokens { token.withBytes { for byte in $0 { spells[Int(byte)] = true } } }
    self.spells = spells
  }

  /// The number of bytes at the end of the text that may be the beginning of a token.
  private func openEnd(of text: UnsafeRawBufferPointer) -> Int {
    text.suffix(mostKept).reversed().prefix { spells[Int($0)] }.count
  }

  /// True if the text has a whole token.
  public func occurs(in text: String) -> Bool {
    var text = text
    return text.withUTF8 { occurs(in: UnsafeRawBufferPointer($0)) }
  }

  /// True if the bytes have a whole token.
  public func occurs(in bytes: UnsafeRawBufferPointer) -> Bool { search.occurs(in: bytes) }

  /// Passes on to `forward` what holds no token; false once a token was found, and then nothing of this piece has gone on.
  /// - Parameter isLast: nothing follows, so that nothing is held back.
  public mutating func pass(
    _ piece: UnsafeRawBufferPointer, isLast: Bool = false, _ forward: (UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    window.append(piece)
    isWide = isWide || piece.contains(0)
    let going = window.withBytes { window in
      occurs(in: window) ? nil : isLast ? window.count : window.count - openEnd(of: window)
    }
    guard let going else { return false }
    let isForwarded = window.withBytes { window in
      going == 0 || forward(UnsafeRawBufferPointer(rebasing: window[..<going]))
    }
    window.removeFirst(going)
    return isForwarded
  }
}
