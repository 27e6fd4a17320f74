public import JSONRPC

/// The `id` of a JSON-RPC message: its bytes for an exact echo, compared by its value, since a server may spell it anew.
public struct MessageID: Hashable, Sendable {
  private enum Value: Hashable, Sendable {
    case text([UInt8])
    case integer(Int64)
    case number([UInt8])
  }

  /// As it was written.
  public let raw: [UInt8]
  private let value: Value

  /// Nil for a value that can't be an id: MCP allows strings and numbers, and not null.
  public init?(_ node: JSONNode) {
    switch node.kind {
    case .string: value = .text(node.utf8 ?? [])
    case .number: value = node.integer.map { .integer($0) } ?? .number([UInt8](node.raw))
    default: return nil
    }
    raw = [UInt8](node.raw)
  }

  public static func == (one: MessageID, other: MessageID) -> Bool { one.value == other.value }
  public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
