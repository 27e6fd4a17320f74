internal import CurlTransfers
internal import Glibc

/// Bytes that are wiped when they are released: a request's body, or a header field with a token. It grows by `append`,
/// and no copy of its content stays behind.
///
/// Not thread-safe while it is written; afterwards any thread may read it.
public final class WipedBytes: @unchecked Sendable {
  private var memory: UnsafeMutableRawBufferPointer
  /// Number of bytes.
  public private(set) var count = 0

  /// No bytes, with room for `capacity`.
  public init(capacity: Int = 64) { memory = .allocate(byteCount: max(capacity, 1), alignment: 16) }

  /// A copy of bytes.
  public convenience init(_ bytes: UnsafeRawBufferPointer) {
    self.init(capacity: bytes.count)
    append(bytes)
  }

  /// A copy of text.
  public convenience init(_ text: String) {
    self.init(capacity: text.utf8.count)
    append(text)
  }

  deinit {
    explicit_bzero(memory.baseAddress!, memory.count)
    memory.deallocate()
  }

  public var isEmpty: Bool { count == 0 }

  /// Appends a copy of bytes.
  public func append(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  /// Appends text.
  public func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends one byte.
  public func append(_ byte: UInt8) {
    reserve(1)
    memory[count] = byte
    count += 1
  }

  /// Appends what `write` puts into `capacity` bytes; it returns how many.
  public func append(capacity: Int, _ write: (UnsafeMutableRawBufferPointer) -> Int) {
    reserve(capacity)
    count += write(UnsafeMutableRawBufferPointer(rebasing: memory[count..<(count + capacity)]))
  }

  /// Lends the bytes.
  public func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
  }

  /// Wipes the content and keeps the memory.
  public func clear() {
    explicit_bzero(memory.baseAddress!, count)
    count = 0
  }

  private func reserve(_ more: Int) {
    guard count + more > memory.count else { return }
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(2 * memory.count, count + more), alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
    explicit_bzero(memory.baseAddress!, memory.count)
    memory.deallocate()
    memory = larger
  }
}

extension WipedBytes: TransferMemory {
  package static func filled(count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) -> WipedBytes {
    let bytes = WipedBytes(capacity: count)
    bytes.append(capacity: count) { buffer in
      write(buffer)
      return count
    }
    return bytes
  }
}
