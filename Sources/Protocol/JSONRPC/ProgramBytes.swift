/// Bytes that live as long as the program, are the same for everybody and no secret: a document, a fixed refusal.
///
/// Lines refer to them instead of copying them, so that a client which asks for a long document many times and reads
/// none of the answers costs next to nothing.
public struct ProgramBytes: @unchecked Sendable {
  // Never written again and never freed.
  public let bytes: UnsafeRawBufferPointer

  public init(_ text: StaticString) {
    bytes = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  /// What `write` writes; for constants, since the memory is never given back.
  public init(writing write: (inout JSONWriter) -> Void) {
    var writer = JSONWriter()
    write(&writer)
    bytes = writer.withBytes { written in
      let kept = UnsafeMutableRawBufferPointer.allocate(byteCount: max(written.count, 1), alignment: 8)
      kept.copyMemory(from: written)
      return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(kept)[..<written.count])
    }
  }

  public var count: Int { bytes.count }
}
