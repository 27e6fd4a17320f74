/// Who enqueued an operation (docs/operations.md, Order): the owner, who is any caller without a grant, or a caller
/// that grants limit.
public struct OperationCaller: Hashable, Sendable {
  /// The names of the grants that the caller presented, and of those under which they were made; empty for the owner.
  public let grants: Set<String>

  public init(grants: Set<String>) { self.grants = grants }

  public static let owner = OperationCaller(grants: [])
}
