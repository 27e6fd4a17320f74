/// Bytes that lines refer to instead of holding a copy: a document, a fixed error line, the body of an event.
///
/// So a client that requests a long document many times and reads no response uses little memory, and so do a thousand
/// subscriptions to the same events.
public struct SharedBytes: @unchecked Sendable {
  // `@unchecked Sendable`: the bytes are never written again, and live as long as this value.
  /// The bytes.
  public let bytes: UnsafeRawBufferPointer
  /// What the bytes belong to; nil if they live as long as the process.
  private let owner: WireBytes?

  /// Refers to constant text.
  public init(_ text: StaticString) {
    bytes = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    owner = nil
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
    owner = nil
  }

  /// Refers to a line that refers to nothing itself.
  public init(_ line: WireBytes) {
    bytes = line.ownBytes
    owner = line
  }

  /// Number of bytes.
  public var count: Int { bytes.count }
}
