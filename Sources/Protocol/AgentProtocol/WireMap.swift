internal import JSONRPC

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
