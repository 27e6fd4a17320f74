/// Counts sign-ins for each operation of a client, so that a server that is never content does not ask the person for ever.
public struct SignInCount: Sendable {
  private var counts: [String: Int] = [:]
  /// MCP, Step-Up Authorization Flow: "no more than a few times".
  public static let maximum = 3
  /// More operations than a client has.
  private static let maximumOperations = 1_024

  public init() {}

  /// False if the person was asked often enough for this operation.
  public func mayAsk(for operation: String) -> Bool { counts[operation, default: 0] < Self.maximum }

  public mutating func asked(for operation: String) {
    if counts.count >= Self.maximumOperations, counts[operation] == nil { return }
    counts[operation, default: 0] += 1
  }

  /// The server was content.
  public mutating func succeeded(_ operation: String) { if counts[operation] != nil { counts[operation] = nil } }
}
