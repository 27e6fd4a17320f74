public import AgentModel

/// Decides what the agent does next with the operations of one account (docs/operations.md, Order).
///
/// Operations that the agent delivers go one at a time in the order in which they were enqueued: one that waits for the
/// end of a pause, for the person, or for another attempt holds up those behind it, so that no later write overtakes an
/// earlier one. One that has ended holds up none. Order and pauses are those of one caller: what a limited caller
/// enqueued holds up no operation of the owner, whose operations go first.
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

  public struct Entry: Hashable, Sendable {
    public var machine: OperationMachine
    public var caller: OperationCaller

    public init(_ machine: OperationMachine, of caller: OperationCaller = .owner) {
      self.machine = machine
      self.caller = caller
    }
  }

  /// Why operations wait.
  public struct HoldUp: Hashable, Sendable {
    public var kind: FailureKind
    /// One word for programs; nil where the kind says all.
    public var reason: String?
    /// By the provider's time.
    public var at: Timestamp

    public init(_ kind: FailureKind, reason: String? = nil, at: Timestamp) {
      self.kind = kind
      self.reason = reason
      self.at = at
    }
  }

  private struct Pause: Hashable, Sendable {
    /// In a row.
    var failures = 0
    var until: Timestamp?
    /// The latest.
    var cause: HoldUp?

    func isOver(at now: Timestamp) -> Bool { until.map { OperationMachine.isPauseOver(until: $0, at: now) } ?? true }
  }

  /// Operations waited for the provider, so that it confirms the account before one is sent.
  public private(set) var needsConfirmation = true
  /// After failures that concern the whole account.
  private var pause = Pause()
  /// After failures of one caller's operations.
  private var pauses: [OperationCaller: Pause] = [:]

  public init() {}

  /// The provider confirmed the account.
  public mutating func confirmed() { needsConfirmation = false }

  /// A resource server answered to an operation of this caller.
  public mutating func answered(_ caller: OperationCaller) { (pause, pauses[caller]) = (Pause(), nil) }

  /// What went before does not count any more: the network was away, the vault locked, or the account signed out.
  public mutating func interrupted() { needsConfirmation = true }

  /// The network may be back, the person signed in, or the configuration changed.
  public mutating func reconnected() { (pause, pauses) = (Pause(), [:]) }

  /// Nothing can be sent now: for the whole account, or for one caller of it. `pause`: as long as the provider asked for;
  /// nil: the backoff's. `isElsewhere`: network and provider are not the cause, so that nothing has to be confirmed anew.
  /// `cause` is told for the operations that wait.
  public mutating func failed(
    _ caller: OperationCaller?, at now: Timestamp, pause wanted: Milliseconds? = nil, isElsewhere: Bool = false,
    because cause: HoldUp? = nil, jitter: Double
  ) {
    if !isElsewhere { needsConfirmation = true }
    var next = caller.map { pauses[$0, default: Pause()] } ?? pause
    next.failures += 1
    next.cause = cause
    let length = wanted ?? Backoff.pause(failures: next.failures, jitter: jitter)
    next.until = now + min(length, OperationMachine.longestPause)
    if let caller { pauses[caller] = next } else { pause = next }
  }

  /// Why an operation of this caller that waits was not sent; nil if it waits for its turn, the network or the person.
  public func holdUp(of caller: OperationCaller) -> HoldUp? { pauses[caller]?.cause ?? pause.cause }

  /// `operations` are in their order. `isReachable`: false while a client said that there is no network.
  public func next(of operations: [Entry], at now: Timestamp, isReachable: Bool) -> Step {
    if let lapsed = operations.firstIndex(where: { $0.machine.lapse.map { $0 <= now } ?? false }) {
      return .lapse(lapsed)
    }
    var moments = operations.compactMap(\.machine.lapse)
    let work = work(in: operations, at: now, &moments)
    guard isReachable, let work else { return .wait(until: moments.min()) }
    guard pause.isOver(at: now) else { return .wait(until: (moments + [pause.until].compactMap { $0 }).min()) }
    return needsConfirmation ? .confirm : work
  }

  private func work(in operations: [Entry], at now: Timestamp, _ moments: inout [Timestamp]) -> Step? {
    var offered: Int?
    /// The first operation of each caller that the agent sends.
    var heads: [Int] = []
    var callers: Set<OperationCaller> = []
    for (place, entry) in operations.enumerated() where entry.machine.isPending {
      let isOver = pauses[entry.caller]?.isOver(at: now) ?? true
      if entry.machine.delivery == .client {
        guard entry.machine.status == .queued else { continue }
        if isOver { offered = offered ?? place } else { moments += [pauses[entry.caller]?.until].compactMap { $0 } }
      } else if callers.insert(entry.caller).inserted {
        heads.append(place)
      }
    }
    if let offered { return .offer(offered) }
    let due = heads.filter { operations[$0].machine.isDue && moment(of: operations[$0], at: now) == nil }
    if let own = due.first(where: { operations[$0].caller == .owner }) ?? due.first { return .deliver(own) }
    moments += heads.compactMap { moment(of: operations[$0], at: now) }
    return nil
  }

  /// When the pauses of an operation end that the agent is to send; nil if none is left.
  private func moment(of entry: Entry, at now: Timestamp) -> Timestamp? {
    guard entry.machine.isDue else { return nil }
    return [entry.machine.nextAttemptAt, pauses[entry.caller]?.until].compactMap { $0 }
      .filter { !OperationMachine.isPauseOver(until: $0, at: now) }.max()
  }
}

extension OperationMachine {
  /// It waits for nothing but time.
  fileprivate var isDue: Bool { status == .queued || status == .unknown }
}
