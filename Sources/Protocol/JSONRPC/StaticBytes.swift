/// Constant, public bytes that live as long as the process, such as a document or a fixed error line.
///
/// Lines refer to them without a copy, so a client that requests a long document many times and reads no response uses
/// little memory.
public struct StaticBytes: @unchecked Sendable {
  // `@unchecked Sendable`: the bytes are never written again and never freed.
  /// The bytes.
  public let bytes: UnsafeRawBufferPointer

  /// Refers to constant text.
  public init(_ text: StaticString) {
    bytes = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  /// Keeps what `write` writes. The memory is never freed, so use it for constants only.
  public init(writing write: (inout JSONWriter) -> Void) {
    var writer = JSONWriter()
    write(&writer)
    bytes = writer.withBytes { written in
      let kept = UnsafeMutableRawBufferPointer.allocate(byteCount: max(written.count, 1), alignment: 8)
      kept.copyMemory(from: written)
      return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(kept)[..<written.count])
    }
  }

  /// Number of bytes.
  public var count: Int { bytes.count }
}
