import CommandSupport
import Glibc
import JSONRPC

/// Bytes that are wiped when the last reference goes: the content of another program's store, or a token of it.
final class HeldBytes {
  private var memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  init(capacity: Int = 4096) { memory = .allocate(byteCount: max(1, capacity), alignment: 8) }

  convenience init(_ bytes: UnsafeRawBufferPointer) {
    self.init(capacity: bytes.count)
    append(bytes)
  }

  /// The text of a JSON string; nil if the node is none, or empty.
  convenience init?(_ node: JSONNode?) {
    guard let node, node.textCapacity > 0 else { return nil }
    self.init(capacity: node.textCapacity)
    count = node.copyText(into: memory)
  }

  deinit {
    explicit_bzero(memory.baseAddress!, memory.count)
    memory.deallocate()
  }

  var isEmpty: Bool { count == 0 }

  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
  }

  func append(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  /// A part, as bytes of its own.
  func part(_ range: Range<Int>) -> HeldBytes {
    withBytes { HeldBytes(UnsafeRawBufferPointer(rebasing: $0[range])) }
  }

  /// A part that is no secret.
  func text(_ range: Range<Int>) -> String { withBytes { String(decoding: $0[range], as: UTF8.self) } }

  /// What `read` says: the number of bytes, 0 at the end, negative with `errno`.
  func appendOnce(from descriptor: Int32) -> Int {
    reserve(65_536)
    let read = Glibc.read(descriptor, memory.baseAddress! + count, memory.count - count)
    count += max(0, read)
    return read
  }

  private func reserve(_ more: Int) {
    guard count + more > memory.count else { return }
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(memory.count * 2, count + more), alignment: 8)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
    explicit_bzero(memory.baseAddress!, memory.count)
    memory.deallocate()
    memory = larger
  }
}

extension HeldBytes: Equatable {
  static func == (one: HeldBytes, other: HeldBytes) -> Bool {
    one.count == other.count && memcmp(one.memory.baseAddress!, other.memory.baseAddress!, one.count) == 0
  }
}

extension JSONWriter {
  /// A secret member, or nothing for nil.
  mutating func member(_ name: StaticString, secret: HeldBytes?) {
    guard let secret else { return }
    key(name)
    secret.withBytes { string(utf8: $0) }
  }
}
