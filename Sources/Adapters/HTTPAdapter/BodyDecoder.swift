internal import CCurl
internal import Glibc

/// Decodes the body of a response whose `Content-Encoding` is gzip or deflate, and knows whether it is complete.
final class BodyDecoder {
  /// A coding that requests accept.
  enum Coding { case gzip, deflate }

  /// Whether decoding goes on.
  enum Outcome { case good, tooLarge, damaged }

  /// What one byte can stand for at most: zlib's limit is 1032.
  static let mostForAByte = 1040
  private static let pieceBytes = 16 << 10

  private let coding: Coding
  private var inflater: OpaquePointer?
  private var isFinished = false
  /// Something else than another stream follows the last one: it is ignored.
  private var isOver = false
  private var hasBegun = false

  init(_ coding: Coding) { self.coding = coding }

  deinit {
    if let inflater { ccurl_inflater_free(inflater) }
  }

  /// False if the stream was cut before its end. A body without a byte is complete: some servers name a coding all the
  /// same.
  var isComplete: Bool { isFinished || !hasBegun }

  /// Decodes the next bytes of the body. `take` gets what they stand for piece by piece, and returns false if that is
  /// too much.
  func decode(_ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool) -> Outcome {
    guard let first = bytes.first, !isOver else { return .good }
    if !hasBegun {
      hasBegun = true
      inflater = ccurl_inflater_make(format(first))
    }
    guard let inflater else { return .damaged }
    return withUnsafeTemporaryAllocation(byteCount: Self.pieceBytes, alignment: 16) { piece in
      defer { explicit_bzero(piece.baseAddress!, piece.count) }
      var rest = bytes[...]
      while true {
        if isFinished {
          // More gzip streams may follow (RFC 1952 §2.2). What else follows a complete stream says nothing.
          guard coding == .gzip, rest.first == 0x1F, ccurl_inflate_again(inflater) else {
            isOver = true
            return .good
          }
          isFinished = false
        }
        var used = 0
        var made = 0
        let progress = ccurl_inflate(
          inflater, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, &used, piece.baseAddress,
          piece.count,
          &made)
        rest = rest.dropFirst(used)
        guard take(UnsafeRawBufferPointer(rebasing: piece[..<made])) else { return .tooLarge }
        switch progress {
        case ccurl_finished: isFinished = true
        case ccurl_unfinished: if rest.isEmpty, made < piece.count { return .good }
        default: return .damaged
        }
        if isFinished, rest.isEmpty { return .good }
      }
    }
  }

  /// Servers send both forms of deflate. The low half of zlib's first byte is always 8 (RFC 1950 §2.2); in RFC 1951 that
  /// would be an uncompressed block with padding that is not zero.
  private func format(_ first: UInt8) -> ccurl_format {
    if coding == .gzip { return ccurl_gzip }
    return first & 0x0F == 8 ? ccurl_zlib : ccurl_raw_deflate
  }
}
