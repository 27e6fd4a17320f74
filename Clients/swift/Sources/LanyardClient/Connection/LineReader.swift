#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Splits received bytes into lines.
struct LineReader {
  /// What a read of the socket brought.
  enum Reading { case bytes, nothing, end }

  private static let readBytes = 64 << 10

  private var buffer = WireBuffer(capacity: readBytes)
  private var begin = 0
  private var scanned = 0

  /// Reads what has arrived, at most one piece.
  mutating func fill(from socket: Int32) -> Reading {
    compact()
    buffer.reserve(Self.readBytes)
    while true {
      let room = buffer.room
      let count = recv(socket, room.baseAddress, room.count, 0)
      if count > 0 {
        buffer.grow(by: count)
        return .bytes
      }
      if count == 0 { return .end }
      switch errno {
      case EINTR: continue
      case EAGAIN, EWOULDBLOCK: return .nothing
      default: return .end
      }
    }
  }

  /// Takes bytes, for tests.
  mutating func fill(with bytes: [UInt8]) {
    compact()
    bytes.withUnsafeBytes { buffer.append($0) }
  }

  /// The next whole line without its end; nil if there is none. Skips blank lines.
  ///
  /// - Throws: `protocolError` if a line is longer than ``ConnectionCore/largestAnswerBytes``.
  mutating func next() throws(LanyardError) -> WireBuffer? {
    while true {
      let start = max(begin, scanned)
      guard start < buffer.count, let found = memchr(buffer.base + start, 0x0A, buffer.count - start) else {
        scanned = buffer.count
        guard buffer.count - begin <= ConnectionCore.largestAnswerBytes else { throw Self.tooLong }
        return nil
      }
      let end = UnsafeRawPointer(found) - UnsafeRawPointer(buffer.base)
      let line = buffer.withBytes { bytes in
        let copy = WireBuffer(capacity: end - begin)
        copy.append(UnsafeRawBufferPointer(rebasing: bytes[begin..<end]))
        return copy
      }
      begin = end + 1
      if line.count == 0 || line.withBytes({ $0.elementsEqual([0x0D]) }) { continue }
      guard line.count <= ConnectionCore.largestAnswerBytes else { throw Self.tooLong }
      return line
    }
  }

  private static let tooLong = LanyardError(
    .protocolError, "a line of the agent is longer than \(ConnectionCore.largestAnswerBytes) bytes")

  /// Removes the lines that were taken. A large buffer is not kept.
  private mutating func compact() {
    let rest = buffer.count - begin
    if rest == 0, buffer.count > 4 * Self.readBytes {
      buffer = WireBuffer(capacity: Self.readBytes)
    } else {
      buffer.removeFirst(begin)
    }
    (begin, scanned) = (0, max(0, scanned - begin))
    if rest == 0 { scanned = 0 }
  }
}
