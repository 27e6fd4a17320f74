internal import Glibc

/// Splits the client's bytes into lines. A line that is too long is dropped to its end, and the next one is read.
public struct LineSplitter: ~Copyable {
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: initialBytes, alignment: 16)
  private var count = 0
  private var isSkipping = false
  private let limit: Int
  private static let initialBytes = 4_096
  /// More memory is given back after a line.
  private static let keptBytes = 64 << 10

  public init(limit: Int = ClientMessage.maximumBytes) { self.limit = limit }

  deinit {
    explicit_bzero(memory.baseAddress!, memory.count)
    memory.deallocate()
  }

  public enum Line {
    /// Without its newline, and not empty.
    case whole(UnsafeRawBufferPointer)
    case tooLong
  }

  /// Takes a chunk and hands on each line that it ends.
  public mutating func push(_ chunk: UnsafeRawBufferPointer, _ onLine: (Line) -> Void) {
    var rest = chunk
    while let end = rest.firstIndex(of: 0x0A) {
      let piece = UnsafeRawBufferPointer(rebasing: rest[..<end])
      rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
      if count == 0, !isSkipping, piece.count <= limit {
        tell(piece, onLine)
      } else {
        append(piece, onLine)
        if !isSkipping { tell(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]), onLine) }
        isSkipping = false
        clear()
      }
    }
    append(rest, onLine)
  }

  private func tell(_ line: UnsafeRawBufferPointer, _ onLine: (Line) -> Void) {
    let line = line.last == 0x0D ? UnsafeRawBufferPointer(rebasing: line.dropLast()) : line
    if line.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) { onLine(.whole(line)) }
  }

  private mutating func append(_ bytes: UnsafeRawBufferPointer, _ onLine: (Line) -> Void) {
    guard !isSkipping, !bytes.isEmpty else { return }
    guard count + bytes.count <= limit else {
      isSkipping = true
      clear()
      return onLine(.tooLong)
    }
    if count + bytes.count > memory.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(
        byteCount: min(limit, max(memory.count * 2, count + bytes.count)), alignment: 16)
      larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
      replaceMemory(larger)
    }
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  private mutating func clear() {
    if memory.count > Self.keptBytes {
      replaceMemory(.allocate(byteCount: Self.initialBytes, alignment: 16))
    } else {
      explicit_bzero(memory.baseAddress!, count)
    }
    count = 0
  }

  private mutating func replaceMemory(_ other: UnsafeMutableRawBufferPointer) {
    explicit_bzero(memory.baseAddress!, memory.count)
    memory.deallocate()
    memory = other
  }
}
