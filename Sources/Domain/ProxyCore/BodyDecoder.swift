internal import AgentModel

/// Takes the body of a request out of the bytes of the connection, by its framing (RFC 9112 sections 6.3 and 7.1). Trailer
/// fields are dropped.
public struct BodyDecoder: Sendable {
  private enum State: Hashable {
    /// So many bytes of the body, or of the chunk, are to come.
    case content(Int64)
    /// In the line with a chunk's size: what was read of it, and the length of the line so far.
    case size(Int64?, lineBytes: Int)
    /// Behind the size of a chunk, in an extension, which is ignored.
    case extensions(Int64, lineBytes: Int)
    case endOfSize(Int64)
    case endOfChunk(sawCR: Bool)
    /// In a trailer line. `lineBytes` is 0 at its start.
    case trailer(lineBytes: Int)
    case endOfTrailer(lineBytes: Int)
    case complete
  }

  /// Bounds for what is ignored: a client has no use for more.
  private static let mostLineBytes = 256
  private static let mostTrailerBytes = 8192

  private var state: State
  private let isChunked: Bool
  private var trailerBytes = 0

  public init(_ framing: RequestHead.Framing) {
    isChunked = framing == .chunked
    switch framing {
    case .none: state = .complete
    case .length(let count): state = .content(count)
    case .chunked: state = .size(nil, lineBytes: 0)
    }
  }

  /// The whole body was taken.
  public var isComplete: Bool { state == .complete }

  /// Takes bytes from the front of `input` and copies what belongs to the body to `output`.
  ///
  /// - Returns: the numbers of bytes taken and copied. It takes all of `input` unless `output` is full or the body ends.
  public mutating func take(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(Refusal) -> (taken: Int, copied: Int) {
    var (taken, copied) = (0, 0)
    while taken < input.count, state != .complete {
      if case .content(let left) = state {
        guard copied < output.count else { break }
        let count = Int(min(left, Int64(min(input.count - taken, output.count - copied))))
        output.baseAddress!.advanced(by: copied).copyMemory(
          from: input.baseAddress!.advanced(by: taken), byteCount: count)
        taken += count
        copied += count
        state = left > Int64(count) ? .content(left - Int64(count)) : isChunked ? .endOfChunk(sawCR: false) : .complete
      } else {
        try step(input[taken])
        taken += 1
      }
    }
    return (taken, copied)
  }

  /// The same for bytes of an array.
  public mutating func take(
    _ input: ArraySlice<UInt8>, into output: UnsafeMutableRawBufferPointer
  ) throws(Refusal) -> (taken: Int, copied: Int) {
    // `withUnsafeBytes` of an array passes on no typed error.
    var refusal: Refusal?
    let counts = input.withUnsafeBytes { bytes -> (taken: Int, copied: Int) in
      do throws(Refusal) {
        return try take(bytes, into: output)
      } catch {
        refusal = error
        return (0, 0)
      }
    }
    if let refusal { throw refusal }
    return counts
  }

  private mutating func step(_ byte: UInt8) throws(Refusal) {
    switch state {
    case .content, .complete: break
    case .size(let size, let lineBytes):
      if let digit = Self.digit(byte) {
        // 15 digits fit `Int64`.
        guard lineBytes < 15 else { throw Self.malformed }
        state = .size((size ?? 0) << 4 | digit, lineBytes: lineBytes + 1)
      } else if let size, byte == 0x0D {
        state = .endOfSize(size)
      } else if let size, byte == UInt8(ascii: ";") || FieldSyntax.isBlank(byte) {
        state = .extensions(size, lineBytes: lineBytes + 1)
      } else {
        throw Self.malformed
      }
    case .extensions(let size, let lineBytes):
      if byte == 0x0D {
        state = .endOfSize(size)
      } else if FieldSyntax.isValue(byte), lineBytes < Self.mostLineBytes {
        state = .extensions(size, lineBytes: lineBytes + 1)
      } else {
        throw Self.malformed
      }
    case .endOfSize(let size):
      guard byte == 0x0A else { throw Self.malformed }
      state = size == 0 ? .trailer(lineBytes: 0) : .content(size)
    case .endOfChunk(let sawCR):
      guard byte == (sawCR ? 0x0A : 0x0D) else { throw Self.malformed }
      state = sawCR ? .size(nil, lineBytes: 0) : .endOfChunk(sawCR: true)
    case .trailer(let lineBytes):
      trailerBytes += 1
      if byte == 0x0D {
        state = .endOfTrailer(lineBytes: lineBytes)
      } else {
        guard trailerBytes < Self.mostTrailerBytes,
          lineBytes > 0 ? FieldSyntax.isValue(byte) : FieldSyntax.isToken(byte)
        else { throw Self.malformed }
        state = .trailer(lineBytes: lineBytes + 1)
      }
    case .endOfTrailer(let lineBytes):
      guard byte == 0x0A else { throw Self.malformed }
      state = lineBytes == 0 ? .complete : .trailer(lineBytes: 0)
    }
  }

  private static let malformed = Refusal.malformed("The chunked body of the request is malformed.")

  private static func digit(_ byte: UInt8) -> Int64? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int64(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): Int64(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): Int64(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
  }
}
