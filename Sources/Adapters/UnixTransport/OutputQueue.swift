internal import Glibc
package import JSONRPC

/// Bytes that wait until a client reads them. Bytes of lines are wiped as they are written, since they may hold tokens;
/// bytes that many lines share stay in place.
package struct OutputQueue: ~Copyable {

  package init() {}
  /// Made for the first bytes: most clients read each answer at once, and nothing of theirs is queued.
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  /// The bytes that wait. All others are wiped, or were never written.
  private var start = 0
  private var end = 0
  private var inserts = Inserts()
  /// What lines keep until they are written, with the number of bytes that are written by then.
  private var kept: [(until: Int, objects: [any AnyObject & Sendable])] = []
  /// The bytes that were written since `kept` was empty.
  private var written = 0

  /// A line keeps something until it is written.
  package var keepsObjects: Bool { !kept.isEmpty }
  /// How many lines that kept something were written whole.
  private(set) var keptLinesWritten = 0
  package var count: Int { end - start + inserts.count }
  package var isEmpty: Bool { start == end && inserts.isEmpty }

  deinit { release() }

  package mutating func append(_ line: WireBytes) {
    if !line.kept.isEmpty { kept.append((written + count + line.count, line.kept)) }
    line.forEachPiece { piece in
      switch piece {
      case .own(let bytes): append(bytes)
      case .shared(let piece): inserts.append(piece, after: end - start)
      }
    }
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    if end + bytes.count > memory.count { makeRoom(bytes.count) }
    UnsafeMutableRawBufferPointer(rebasing: memory[end...]).copyMemory(from: bytes)
    end += bytes.count
  }

  private mutating func makeRoom(_ more: Int) {
    let waiting = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[start..<end])
    // Grows by half, so that a long queue is not copied for each line.
    let needed = waiting.count + more
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(4096, needed + needed / 2), alignment: 8)
    larger.copyMemory(from: waiting)
    release()
    memory = larger
    end = waiting.count
    start = 0
  }

  private func release() {
    guard let base = memory.baseAddress else { return }
    explicit_bzero(base + start, end - start)
    memory.deallocate()
  }

  /// The result of a write.
  package enum Outcome { case flushed, blocked, gone }

  /// Writes as much as the descriptor takes. `piece` bounds one write, for descriptors that may block on more.
  package mutating func write(to fd: Int32, isSocket: Bool, piece: Int = .max) -> Outcome {
    while !isEmpty {
      let written =
        inserts.isEmpty
        ? Self.write(UnsafeRawBufferPointer(rebasing: memory[start..<end]), to: fd, isSocket: isSocket, piece: piece)
        : writePieces(to: fd, isSocket: isSocket, piece: piece)
      if written < 0 {
        if errno == EINTR { continue }
        return errno == EAGAIN || errno == EWOULDBLOCK ? .blocked : .gone
      }
      consume(written)
      if piece != .max { break }  // one piece each time the descriptor was ready
    }
    guard isEmpty else { return .blocked }
    start = 0
    end = 0
    return .flushed
  }

  /// The number of bytes that the descriptor took; negative if none.
  static func write(_ bytes: UnsafeRawBufferPointer, to fd: Int32, isSocket: Bool, piece: Int = .max) -> Int {
    let size = min(bytes.count, piece)
    return isSocket
      ? Glibc.send(fd, bytes.baseAddress, size, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      : Glibc.write(fd, bytes.baseAddress, size)
  }

  /// Joins the next pieces for one write: there may be thousands of a few bytes each.
  private func writePieces(to fd: Int32, isSocket: Bool, piece: Int) -> Int {
    withUnsafeTemporaryAllocation(byteCount: min(Self.joinedBytes, count), alignment: 8) { joined in
      let own = UnsafeRawBufferPointer(rebasing: memory[start..<end])
      let filled = inserts.fill(joined, own: own)
      defer { explicit_bzero(joined.baseAddress!, filled) }
      return Self.write(
        UnsafeRawBufferPointer(rebasing: joined[..<filled]), to: fd, isSocket: isSocket, piece: piece)
    }
  }

  private static let joinedBytes = 32 << 10

  private mutating func consume(_ count: Int) {
    let own = inserts.consume(count, own: end - start)
    if own > 0 { explicit_bzero(memory.baseAddress! + start, own) }
    start += own
    guard !kept.isEmpty else { return }
    written += count
    let waiting = kept.count
    kept.removeAll { $0.until <= written }
    keptLinesWritten += waiting - kept.count
    if kept.isEmpty { written = 0 }
  }

  /// Drops what waits. Returns what its lines kept, for the caller to let go of outside of its lock.
  mutating func discard() -> [any AnyObject & Sendable] {
    let objects = kept.flatMap(\.objects)
    release()
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    (start, end, written) = (0, 0, 0)
    kept = []
    inserts = Inserts()
    return objects
  }

  /// Releases the memory after a burst.
  mutating func shrink() {
    guard isEmpty, memory.count > 65_536 else { return }
    memory.deallocate()
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }
}
