public import JSONRPC

/// A JSON value as it was written. It was judged when it was scanned, or made by a `JSONWriter`.
public struct RawJSON: WireWritable, Sendable {
  private enum Storage: Sendable {
    case bytes([UInt8])
    /// A part of the program: a document that is the same for everybody, and is not copied for anybody.
    case program(ProgramBytes)
  }
  private let storage: Storage

  /// A copy of a scanned value.
  public init(_ node: JSONNode) { storage = .bytes([UInt8](node.raw)) }

  /// Text of the program's own that is JSON.
  public init(_ text: StaticString) { storage = .program(ProgramBytes(text)) }

  /// Bytes that were taken from a `RawJSON` earlier.
  public init(stored bytes: [UInt8]) { storage = .bytes(bytes) }

  /// What `write` writes: exactly one value.
  public init(writing write: (inout JSONWriter) -> Void) {
    var writer = JSONWriter()
    write(&writer)
    storage = .bytes(writer.withBytes { [UInt8]($0) })
  }

  /// An object without members.
  public static let emptyObject = RawJSON("{}")

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

  /// From about here on a copy costs more than a piece of its own.
  private static let worthReferring = 256
}

/// An object whose names are data: header fields, pins. It keeps its order.
public struct WireMap<Value: Sendable>: Sendable {
  public struct Entry: Sendable {
    public var name: String
    public var value: Value

    public init(name: String, value: Value) {
      self.name = name
      self.value = value
    }
  }

  public var entries: [Entry]

  public init(_ entries: [Entry] = []) { self.entries = entries }

  /// The value of this name.
  public subscript(name: String) -> Value? { entries.first { $0.name == name }?.value }
}

extension WireMap: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, Value)...) {
    entries = elements.map { Entry(name: $0.0, value: $0.1) }
  }
}
