import Glibc

/// Bytes on their way to a client. They may hold a token, so they are wiped before their memory goes back.
public final class WireBytes: @unchecked Sendable {
  // Written once by the JSONWriter that made it, only read afterwards: safe to hand from task to thread.
  let memory: UnsafeMutableRawBufferPointer
  public let count: Int

  init(memory: UnsafeMutableRawBufferPointer, count: Int) {
    self.memory = memory
    self.count = count
  }

  /// A copy of these bytes.
  public convenience init(_ bytes: some Collection<UInt8>) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 8)
    memory.copyBytes(from: bytes)
    self.init(memory: memory, count: bytes.count)
  }

  deinit {
    explicit_bzero(memory.baseAddress!, memory.count)
    memory.deallocate()
  }

  /// The bytes, for reading as long as somebody holds this object: they are wiped with it.
  public var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count])
  }
}
