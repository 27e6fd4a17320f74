/// Which operations fit into the queue (docs/operations.md, Bounds).
public enum OperationBounds {
  public static let mostOfAccount = 1_000
  /// All limited callers of an account together: half, so that the owner's programs always have the other.
  public static let mostOfLimitedCallers = mostOfAccount / 2
  public static let mostBytes = 64 << 20
  /// What all limited callers enqueued, in all accounts: half, for the same reason.
  public static let mostBytesOfLimitedCallers = mostBytes / 2
  /// The most bytes that one account's delivered and orphaned operations may take. They make room for the operations of
  /// their own account only.
  public static let mostBytesThatMayLeave = 8 << 20

  /// What counts of a stored operation.
  public struct Entry: Hashable, Sendable {
    public var mayLeave: Bool
    /// A limited caller enqueued it.
    public var isLimited: Bool
    public var bytes: Int

    public init(mayLeave: Bool, isLimited: Bool = false, bytes: Int) {
      self.mayLeave = mayLeave
      self.isLimited = isLimited
      self.bytes = bytes
    }
  }

  /// The bytes of operations.
  public struct Bytes: Hashable, Sendable {
    public var all: Int
    public var ofLimitedCallers: Int

    public init(all: Int, ofLimitedCallers: Int = 0) {
      self.all = all
      self.ofLimitedCallers = ofLimitedCallers
    }
  }

  /// The operations of the account that make room for a new one, or for what a change added: those that may leave, the
  /// oldest first; for a limited caller's first those of limited callers. Nil if there is no room.
  ///
  /// - Parameters:
  ///   - operations: of the account, in their order.
  ///   - added: the operations that are added, 1 or 0.
  ///   - bytes: of the new one.
  ///   - isLimited: whether what is added is a limited caller's.
  ///   - others: the bytes of all other accounts.
  public static func leaving(
    _ operations: [Entry], adding added: Int = 1, for bytes: Int, isLimited: Bool = false, others: Bytes
  ) -> [Int]? {
    var limited = Sum(
      operations.filter(\.isLimited), adding: isLimited ? added : 0, isLimited ? bytes : 0, others.ofLimitedCallers)
    var all = Sum(operations, adding: added, bytes, others.all)
    var leaving: Set<Int> = []
    func isOver() -> Bool { limited.count > mostOfLimitedCallers || limited.bytes > mostBytesOfLimitedCallers }
    // The half is judged when an operation comes, not when its answer does: no answer is lost for want of room there.
    if isLimited, added > 0 {
      for (place, operation) in operations.enumerated() where isOver() && operation.isLimited && operation.mayLeave {
        leaving.insert(place)
        limited.remove(operation)
        all.remove(operation)
      }
      guard !isOver() else { return nil }
    }
    for (place, operation) in operations.enumerated()
    where all.count > mostOfAccount || all.bytes > mostBytes || all.bytesThatMayLeave > mostBytesThatMayLeave {
      guard operation.mayLeave, leaving.insert(place).inserted else { continue }
      all.remove(operation)
    }
    return all.count <= mostOfAccount && all.bytes <= mostBytes ? leaving.sorted() : nil
  }

  private struct Sum {
    var count: Int
    /// With those of other accounts.
    var bytes: Int
    var bytesThatMayLeave: Int

    init(_ operations: [Entry], adding added: Int, _ bytes: Int, _ others: Int) {
      count = operations.count + added
      self.bytes = operations.reduce(others + bytes) { $0 + $1.bytes }
      bytesThatMayLeave = operations.reduce(0) { $0 + ($1.mayLeave ? $1.bytes : 0) }
    }

    mutating func remove(_ operation: Entry) {
      count -= 1
      bytes -= operation.bytes
      if operation.mayLeave { bytesThatMayLeave -= operation.bytes }
    }
  }
}
