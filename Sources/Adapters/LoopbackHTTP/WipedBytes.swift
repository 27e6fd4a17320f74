import Glibc

/// Bytes that are overwritten before their memory is free.
public final class WipedBytes: @unchecked Sendable {
  // Written only by `init` and `wipe`, which a request's one owner calls.
  private let memory: UnsafeMutableRawBufferPointer

  init(copying bytes: ArraySlice<UInt8>) {
    memory = .allocate(byteCount: bytes.count, alignment: 1)
    memory.copyBytes(from: bytes)
  }

  deinit {
    wipe()
    memory.deallocate()
  }

  /// Lends the bytes to `body`, which must not keep them.
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    body(UnsafeRawBufferPointer(memory))
  }

  /// Overwrites the bytes.
  public func wipe() { if memory.count > 0 { explicit_bzero(memory.baseAddress!, memory.count) } }
}

extension [UInt8] {
  /// Overwrites the first elements. No other array may share the memory, or it is a copy's that is overwritten.
  mutating func wipe(first count: Int) {
    withUnsafeMutableBytes { bytes in if count > 0 { explicit_bzero(bytes.baseAddress!, count) } }
  }
}
