public import AgentModel

/// Decides what the agent does next with the operations of one account (docs/operations.md, Order).
///
/// Operations that the agent delivers go one at a time in the order in which they were enqueued: one that waits for the
/// end of a pause, for the person, or for another attempt holds up those behind it, so that no later write overtakes an
/// earlier one. One that has ended holds up none.
public struct OperationQueue: Hashable, Sendable {
  public enum Step: Hashable, Sendable {
    /// The time of this operation is over.
    case lapse(Int)
    /// Have the account's revocations sent and the provider confirm the account, before anything is decided.
    case confirm
    /// Decide again, and send it.
    case deliver(Int)
    /// Decide again, and offer it to clients.
    case offer(Int)
    /// Nothing before this moment; nil: nothing until something happens.
    case wait(until: Timestamp?)
  }

  /// Operations waited for the provider, so that it confirms the account before one is sent.
  public private(set) var needsConfirmation = true
  /// Failures in a row of what concerns the whole account.
  public private(set) var failures = 0
  private var pausedUntil: Timestamp?

  public init() {}

  /// The provider confirmed the account.
  public mutating func confirmed() { needsConfirmation = false }

  /// A resource server answered.
  public mutating func answered() { (failures, pausedUntil) = (0, nil) }

  /// What went before does not count any more: the network was away, the vault locked, or the account signed out.
  public mutating func interrupted() { needsConfirmation = true }

  /// The network may be back, the person signed in, or the configuration changed.
  public mutating func reconnected() { (failures, pausedUntil) = (0, nil) }

  /// Nothing can be sent for this account now. `pause`: as long as the provider asked for; nil: the backoff's.
  /// `isElsewhere`: network and provider are not the cause, so that nothing has to be confirmed anew.
  public mutating func failed(
    at now: Timestamp, pause: Milliseconds? = nil, isElsewhere: Bool = false, jitter: Double
  ) {
    failures += 1
    if !isElsewhere { needsConfirmation = true }
    let pause = pause ?? Backoff.pause(failures: failures, jitter: jitter)
    pausedUntil = now + min(pause, OperationMachine.longestPause)
  }

  /// `operations` are in their order. `isReachable`: false while a client said that there is no network.
  public func next(of operations: [OperationMachine], at now: Timestamp, isReachable: Bool) -> Step {
    if let lapsed = operations.firstIndex(where: { $0.lapse.map { $0 <= now } ?? false }) { return .lapse(lapsed) }
    var moments = operations.compactMap(\.lapse)
    let work = work(in: operations, at: now, &moments)
    guard isReachable, let work else { return .wait(until: moments.min()) }
    if let pausedUntil, pausedUntil > now { return .wait(until: (moments + [pausedUntil]).min()) }
    return needsConfirmation ? .confirm : work
  }

  private func work(in operations: [OperationMachine], at now: Timestamp, _ moments: inout [Timestamp]) -> Step? {
    if let offered = operations.firstIndex(where: { $0.delivery == .client && $0.status == .queued }) {
      return .offer(offered)
    }
    guard let head = operations.firstIndex(where: { $0.delivery == .agent && $0.isPending }) else { return nil }
    switch operations[head].state {
    case .queued(let moment), .unknown(let moment):
      guard let moment, moment > now else { return .deliver(head) }
      moments.append(moment)
      return nil
    default: return nil
    }
  }
}

/// Which operations fit into the queue (docs/operations.md, Bounds).
public enum OperationBounds {
  public static let mostOfAccount = 1_000
  public static let mostBytes = 64 << 20
  /// The most bytes that one account's delivered and orphaned operations may take. They make room for the operations of
  /// their own account only.
  public static let mostBytesThatMayLeave = 8 << 20

  /// The operations of the account that make room for a new one, or for what a change added: those that may leave, the
  /// oldest first. Nil if there is no room.
  ///
  /// - Parameters:
  ///   - operations: of the account, in their order, with the bytes of each.
  ///   - added: the operations that are added, 1 or 0.
  ///   - bytes: of the new one.
  ///   - others: the bytes of all other accounts.
  public static func leaving(
    _ operations: [(mayLeave: Bool, bytes: Int)], adding added: Int = 1, for bytes: Int, others: Int
  ) -> [Int]? {
    var count = operations.count + added
    var total = operations.reduce(others + bytes) { $0 + $1.bytes }
    var ended = operations.reduce(0) { $0 + ($1.mayLeave ? $1.bytes : 0) }
    var leaving: [Int] = []
    for (place, operation) in operations.enumerated()
    where count > mostOfAccount || total > mostBytes || ended > mostBytesThatMayLeave {
      guard operation.mayLeave else { continue }
      leaving.append(place)
      ended -= operation.bytes
      count -= 1
      total -= operation.bytes
    }
    return count <= mostOfAccount && total <= mostBytes ? leaving : nil
  }
}
