import Glibc

/// A line for a client. It may contain a token, so its memory is wiped on release; parts that many lines have are referred to.
public final class WireBytes: @unchecked Sendable {
  // `@unchecked Sendable`: a `JSONWriter` wrote the memory; afterwards it is only read.
  private let memory: UnsafeMutableRawBufferPointer
  private let own: Int
  private let inserts: [Insert]
  /// What lives as long as the line waits to be written: it counts the line's memory somewhere.
  public let kept: [any AnyObject & Sendable]
  /// Length of the whole line in bytes.
  public let count: Int

  /// Bytes that are referred to, and their position among the line's own bytes.
  struct Insert {
    var position: Int
    var piece: SharedBytes
  }

  /// A part of a line.
  public enum Piece {
    /// Memory of the line, wiped with it.
    case own(UnsafeRawBufferPointer)
    /// Bytes that are referred to.
    case shared(SharedBytes)
  }

  init(
    memory: UnsafeMutableRawBufferPointer, count: Int, inserts: [Insert], keeping kept: [any AnyObject & Sendable] = []
  ) {
    self.kept = kept
    self.memory = memory
    own = count
    self.inserts = inserts
    self.count = inserts.reduce(count) { $0 + $1.piece.count }
  }

  /// Copies bytes.
  public convenience init(_ bytes: some Collection<UInt8>) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 8)
    memory.copyBytes(from: bytes)
    self.init(memory: memory, count: bytes.count, inserts: [])
  }

  deinit {
    explicit_bzero(memory.baseAddress!, own)
    memory.deallocate()
  }

  /// The bytes of a line without references, which live as long as it does.
  var ownBytes: UnsafeRawBufferPointer {
    precondition(inserts.isEmpty)
    return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<own])
  }

  /// Lends the parts in order; no part is empty.
  public func forEachPiece(_ body: (Piece) -> Void) {
    let bytes = UnsafeRawBufferPointer(memory)
    var position = 0
    for insert in inserts {
      if position < insert.position {
        body(.own(UnsafeRawBufferPointer(rebasing: bytes[position..<insert.position])))
      }
      body(.shared(insert.piece))
      position = insert.position
    }
    if position < own { body(.own(UnsafeRawBufferPointer(rebasing: bytes[position..<own]))) }
  }

  /// Lends the whole line; several parts are joined first.
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    if inserts.isEmpty { return body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<own])) }
    var whole = JSONWriter(capacity: count)
    forEachPiece { piece in
      switch piece {
      case .own(let bytes): whole.verbatim(bytes)
      case .shared(let piece): whole.verbatim(piece.bytes)
      }
    }
    return whole.withBytes(body)
  }
}
