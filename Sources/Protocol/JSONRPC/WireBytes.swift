import Glibc

/// Bytes on their way to a client. They may hold a token, so they are wiped before their memory goes back; what is the
/// program's own is only referred to.
public final class WireBytes: @unchecked Sendable {
  // Written once by the JSONWriter that made it, only read afterwards: safe to hand from task to thread.
  private let memory: UnsafeMutableRawBufferPointer
  private let own: Int
  private let inserts: [Insert]
  /// Of the whole line.
  public let count: Int

  /// The program's bytes, after this many of the line's own.
  struct Insert {
    var position: Int
    var piece: ProgramBytes
  }

  /// One piece of a line.
  public enum Piece {
    /// Wiped with the line.
    case own(UnsafeRawBufferPointer)
    case program(ProgramBytes)
  }

  init(memory: UnsafeMutableRawBufferPointer, count: Int, inserts: [Insert]) {
    self.memory = memory
    own = count
    self.inserts = inserts
    self.count = inserts.reduce(count) { $0 + $1.piece.count }
  }

  /// A copy of these bytes.
  public convenience init(_ bytes: some Collection<UInt8>) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 8)
    memory.copyBytes(from: bytes)
    self.init(memory: memory, count: bytes.count, inserts: [])
  }

  deinit {
    explicit_bzero(memory.baseAddress!, memory.count)
    memory.deallocate()
  }

  /// Lends the pieces in order; none is empty.
  public func forEachPiece(_ body: (Piece) -> Void) {
    let bytes = UnsafeRawBufferPointer(memory)
    var position = 0
    for insert in inserts {
      if position < insert.position {
        body(.own(UnsafeRawBufferPointer(rebasing: bytes[position..<insert.position])))
      }
      body(.program(insert.piece))
      position = insert.position
    }
    if position < own { body(.own(UnsafeRawBufferPointer(rebasing: bytes[position..<own]))) }
  }

  /// Lends the whole line; one of several pieces is put together for it.
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    if inserts.isEmpty { return body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<own])) }
    var whole = JSONWriter(capacity: count)
    forEachPiece { piece in
      switch piece {
      case .own(let bytes): whole.verbatim(bytes)
      case .program(let piece): whole.verbatim(piece.bytes)
      }
    }
    return whole.withBytes(body)
  }
}
