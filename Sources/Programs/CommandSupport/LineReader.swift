internal import Glibc

/// Reads lines from a descriptor. Wipes each line after use: it may hold a token.
public struct LineReader: ~Copyable {
  /// Far more than any answer of the agent.
  private static let limit = 64 << 20

  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 8)
  private var start = 0
  private var end = 0
  private var searched = 0

  public init() {}

  /// Begins with bytes that were read before.
  init(received: UnsafeRawBufferPointer) {
    if received.count > memory.count {
      memory.deallocate()
      memory = .allocate(byteCount: received.count, alignment: 8)
    }
    memory.copyMemory(from: received)
    end = received.count
  }

  deinit {
    explicit_bzero(memory.baseAddress!, memory.count)
    memory.deallocate()
  }

  /// The outcome of `fill`.
  public enum Read { case bytes, endOfFile, wouldBlock, failed(Int32), tooLong }

  /// Passes the next whole line, without its newline, to `body` and wipes it. Nil if no line is complete.
  public mutating func next<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
    guard searched < end, let base = memory.baseAddress,
      let newline = memchr(base + searched, 0x0A, end - searched)
    else {
      searched = end
      return nil
    }
    let length = UnsafeRawPointer(newline) - UnsafeRawPointer(base + start)
    let result = body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[start..<(start + length)]))
    explicit_bzero(base + start, length)
    start += length + 1
    searched = start
    if start == end { (start, end, searched) = (0, 0, 0) }
    return result
  }

  /// Reads available bytes from the descriptor.
  public mutating func fill(from descriptor: Int32) -> Read {
    if end == memory.count, !makeRoom() { return .tooLong }
    let count = read(descriptor, memory.baseAddress! + end, memory.count - end)
    if count > 0 {
      end += count
      return .bytes
    }
    if count == 0 { return .endOfFile }
    return errno == EINTR || errno == EAGAIN ? .wouldBlock : .failed(errno)
  }

  private mutating func makeRoom() -> Bool {
    guard end - start < Self.limit else { return false }
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(memory.count, 2 * (end - start)), alignment: 8)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[start..<end]))
    explicit_bzero(memory.baseAddress!, memory.count)
    memory.deallocate()
    memory = larger
    (searched, end, start) = (searched - start, end - start, 0)
    return true
  }
}
