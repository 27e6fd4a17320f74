public import JSONRPC

/// A JSON value as written. It was scanned, or made by a `JSONWriter`, so it is well-formed.
public struct RawJSON: WireWritable, Sendable {
  private enum Storage: Sendable {
    case bytes([UInt8])
    /// Constant text of the program, which is never copied.
    case program(StaticBytes)
  }
  private let storage: Storage

  /// Copies a scanned value.
  public init(_ node: JSONNode) { storage = .bytes([UInt8](node.raw)) }

  /// Refers to constant JSON text.
  public init(_ text: StaticString) { storage = .program(StaticBytes(text)) }

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
    case .program(let piece): body(piece.bytes)
    }
  }

  public func write(to writer: inout JSONWriter) {
    switch storage {
    case .program(let piece) where piece.count > Self.worthReferring: writer.raw(piece)
    default: withBytes { writer.raw($0) }
    }
  }

  /// From this size on, copying costs more than a separate piece of the line.
  private static let worthReferring = 256
}

/// An object whose member names are data, such as header fields or pins. It keeps their order.
public struct WireMap<Value: Sendable>: Sendable {
  /// One member.
  public struct Entry: Sendable {
    public var name: String
    public var value: Value

    public init(name: String, value: Value) {
      self.name = name
      self.value = value
    }
  }

  /// The members in order.
  public var entries: [Entry]

  public init(_ entries: [Entry] = []) { self.entries = entries }

  /// The value of the first member with this name; nil if there is none.
  public subscript(name: String) -> Value? { entries.first { $0.name == name }?.value }
}

extension WireMap: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, Value)...) {
    entries = elements.map { Entry(name: $0.0, value: $0.1) }
  }
}
