/// A JSON value as written. It was scanned, or made by a `JSONWriter`, so it is well-formed.
public struct RawJSON: Sendable {
  private enum Storage: Sendable {
    case bytes([UInt8])
    /// Constant text of the program, which is never copied.
    case constant(SharedBytes)
  }
  private let storage: Storage

  /// Copies a scanned value.
  public init(_ node: JSONNode) { storage = .bytes([UInt8](node.raw)) }

  /// Refers to constant JSON text.
  public init(_ text: StaticString) { storage = .constant(SharedBytes(text)) }

  /// Takes bytes that came from a `RawJSON` before.
  public init(stored bytes: [UInt8]) { storage = .bytes(bytes) }

  /// Takes the one value that `write` writes.
  public init(writing write: (inout JSONWriter) -> Void) {
    var writer = JSONWriter()
    write(&writer)
    storage = .bytes(writer.withBytes { [UInt8]($0) })
  }

  /// Lends the bytes to `body`.
  public func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
    switch storage {
    case .bytes(let bytes): bytes.withUnsafeBytes(body)
    case .constant(let piece): body(piece.bytes)
    }
  }

  public func write(to writer: inout JSONWriter) {
    switch storage {
    case .constant(let piece) where piece.count > Self.worthReferring: writer.raw(piece)
    default: withBytes { writer.raw($0) }
    }
  }

  /// From this size on, copying costs more than a separate piece of the line.
  private static let worthReferring = 256
}
