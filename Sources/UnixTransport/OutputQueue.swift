internal import Glibc

/// Bytes that wait for a client to read them; wiped as they leave, since they may hold tokens.
struct OutputQueue: ~Copyable {
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 8192, alignment: 8)
  private var start = 0
  private var end = 0

  var count: Int { end - start }
  var isEmpty: Bool { start == end }

  deinit {
    explicit_bzero(memory.baseAddress!, memory.count)
    memory.deallocate()
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    if end + bytes.count > memory.count { makeRoom(bytes.count) }
    UnsafeMutableRawBufferPointer(rebasing: memory[end...]).copyMemory(from: bytes)
    end += bytes.count
  }

  private mutating func makeRoom(_ more: Int) {
    let waiting = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[start..<end])
    // By half again, so that a long queue is not copied for each line that joins it.
    let needed = waiting.count + more
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: needed + needed / 2, alignment: 8)
    larger.copyMemory(from: waiting)
    explicit_bzero(memory.baseAddress!, end)
    memory.deallocate()
    memory = larger
    end = waiting.count
    start = 0
  }

  /// What a write may have done.
  enum Outcome { case flushed, blocked, gone }

  /// Writes what it can. `piece` bounds one write, for descriptors that may block on more.
  mutating func write(to fd: Int32, isSocket: Bool, piece: Int = .max) -> Outcome {
    while start < end {
      let size = min(end - start, piece)
      let base = memory.baseAddress! + start
      let written =
        isSocket ? Glibc.send(fd, base, size, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) : Glibc.write(fd, base, size)
      if written < 0 {
        if errno == EINTR { continue }
        return errno == EAGAIN || errno == EWOULDBLOCK ? .blocked : .gone
      }
      explicit_bzero(base, written)
      start += written
      if piece != .max { break }  // one piece for each time that the descriptor said it was ready
    }
    guard start == end else { return .blocked }
    start = 0
    end = 0
    return .flushed
  }

  /// After a burst the memory goes back.
  mutating func shrink() {
    guard isEmpty, memory.count > 65_536 else { return }
    memory.deallocate()
    memory = .allocate(byteCount: 8192, alignment: 8)
  }
}
