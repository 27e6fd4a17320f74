import Glibc

/// Splits a byte stream into lines at 0x0A, independent of the chunks.
///
/// An incomplete line may hold a secret, so its memory is wiped after reading.
public struct LineFramer: ~Copyable {
  /// Made for the first line that comes in parts.
  private var memory: UnsafeMutableRawBufferPointer
  private var count = 0
  private let limit: Int

  /// `limit` is the maximum length of a line, without its newline and a `\r` before it. `push` reports a longer line.
  public init(limit: Int) {
    self.limit = limit
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }

  deinit { release() }

  private func release() {
    guard let base = memory.baseAddress else { return }
    explicit_bzero(base, count)
    memory.deallocate()
  }

  /// The result of a chunk: it was consumed, a line exceeds the limit, or `onLine` stopped.
  public enum Outcome: Sendable { case wantsMore, overLimit, stopped }

  /// Number of bytes of the incomplete line.
  public var waiting: Int { count }

  /// Lends the incomplete line to `body`.
  public func withWaiting<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
  }

  /// Adds a chunk and lends each completed line to `onLine`, without its newline and a `\r` before it. If `onLine`
  /// returns false, the rest of the chunk is dropped.
  public mutating func push(
    _ chunk: UnsafeRawBufferPointer, _ onLine: (UnsafeRawBufferPointer) -> Bool
  ) -> Outcome {
    var rest = chunk
    while let newline = Self.newline(in: rest) {
      let piece = UnsafeRawBufferPointer(rebasing: rest[..<newline])
      rest = UnsafeRawBufferPointer(rebasing: rest[(newline + 1)...])
      if count == 0 {
        guard fits(piece.count, last: piece.last) else { return .overLimit }
        guard onLine(Self.withoutReturn(piece)) else { return .stopped }
      } else {
        guard append(piece) else { return .overLimit }
        let goesOn = onLine(
          Self.withoutReturn(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count])))
        clear()
        guard goesOn else { return .stopped }
      }
    }
    return append(rest) ? .wantsMore : .overLimit
  }

  /// Wipes the incomplete line.
  public mutating func clear() {
    guard let base = memory.baseAddress else { return }
    explicit_bzero(base, count)
    count = 0
    if memory.count > 65_536 {
      memory.deallocate()
      memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    }
  }

  private static func newline(in bytes: UnsafeRawBufferPointer) -> Int? {
    guard let base = bytes.baseAddress, bytes.count > 0, let found = memchr(base, 0x0A, bytes.count) else { return nil }
    return UnsafeRawPointer(found) - base
  }

  private static func withoutReturn(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    line.last == 0x0D ? UnsafeRawBufferPointer(rebasing: line.dropLast()) : line
  }

  /// A line may exceed the limit by one byte if that is a `\r`: the newline may follow.
  private func fits(_ length: Int, last: UInt8?) -> Bool { length <= limit || (length == limit + 1 && last == 0x0D) }

  private mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard !bytes.isEmpty else { return true }
    guard fits(count + bytes.count, last: bytes.last) else { return false }
    if count + bytes.count > memory.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(
        byteCount: min(limit + 1, max(4096, memory.count * 2, count + bytes.count)), alignment: 8)
      larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
      release()
      memory = larger
    }
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    count += bytes.count
    return true
  }
}
