internal import CLanyardClient

/// Bytes that are overwritten before their memory is released, since lines hold secrets.
///
/// One owner at a time: a buffer is written by the task or thread that made it, and only read once it is shared.
final class WireBuffer: @unchecked Sendable {
  private(set) var base: UnsafeMutableRawPointer
  private(set) var count = 0
  private var capacity: Int

  init(capacity: Int = 256) {
    self.capacity = max(capacity, 16)
    base = .allocate(byteCount: self.capacity, alignment: 8)
  }

  deinit { release() }

  /// Passes the bytes written so far to `body`. The buffer lives until `body` returns.
  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    defer { withExtendedLifetime(self) {} }
    return try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  /// The bytes as text.
  var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }

  /// The memory behind the bytes.
  var room: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: base + count, count: capacity - count)
  }

  /// Makes room for `more` bytes behind those written.
  func reserve(_ more: Int) {
    guard capacity - count < more else { return }
    let larger = max(capacity * 2, count + more)
    let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
    moved.copyMemory(from: base, byteCount: count)
    release()
    (base, capacity) = (moved, larger)
  }

  /// Counts bytes that were written to `room`.
  func grow(by more: Int) { count += more }

  func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    reserve(bytes.count)
    (base + count).copyMemory(from: start, byteCount: bytes.count)
    count += bytes.count
  }

  func append(_ byte: UInt8) {
    reserve(1)
    base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count += 1
  }

  func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Removes bytes at the begin and wipes the place where the last ones stood.
  func removeFirst(_ removed: Int) {
    guard removed > 0 else { return }
    let rest = count - removed
    base.copyMemory(from: base + removed, byteCount: rest)
    lanyard_client_wipe(base + rest, removed)
    count = rest
  }

  private func release() {
    lanyard_client_wipe(base, count)
    base.deallocate()
  }
}
