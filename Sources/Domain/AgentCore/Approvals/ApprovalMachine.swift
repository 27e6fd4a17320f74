public import AgentModel

/// One request of an AI agent that waits for a person, with all callers that ask the same (docs/approvals.md).
///
/// - A1: the first verdict counts. It is written to the audit log before a caller acts on it, and meanwhile no other verdict
///   is taken.
/// - A2: every caller gets one answer, and the end is told once.
public struct ApprovalMachine: Hashable, Sendable {
  /// A caller that waits.
  public typealias Asker = UInt64

  public enum Verdict: String, Hashable, Sendable, CaseIterable {
    case once
    /// Each request of the capability, account and grant, until the grant or the agent ends.
    case session
    case deny
  }

  /// What a verdict was given by.
  public enum Basis: String, Hashable, Sendable, CaseIterable { case call, pinentry }

  public enum End: Hashable, Sendable {
    case decided(Verdict, Basis)
    case timedOut
    /// No caller waits any more.
    case withdrawn
    case grantEnded
    /// The vault was locked.
    case locked
    case shuttingDown
  }

  public enum State: Hashable, Sendable {
    case waiting
    /// The verdict is being written to the audit log.
    case deciding(Verdict, Basis)
    case ended(End)
  }

  public enum Effect: Hashable, Sendable {
    /// Write the verdict to the audit log.
    case record(Verdict, Basis)
    case answer(Asker, End)
    /// Allow further requests of the capability, account and grant.
    case keepAllowance(Basis)
    /// Refuse the same request for a while.
    case keepRefusal
    case tell(End)
  }

  public private(set) var state = State.waiting
  /// In the order in which they came.
  public private(set) var askers: [Asker]
  /// Without a verdict until then nothing is sent.
  public let expiresAt: BootInstant
  /// Nil if the grant has no end.
  public let grantEndsAt: BootInstant?

  public init(askedBy asker: Asker, until expiresAt: BootInstant, grantEndsAt: BootInstant?) {
    askers = [asker]
    self.expiresAt = expiresAt
    self.grantEndsAt = grantEndsAt
  }

  public var isWaiting: Bool { state == .waiting }

  public var hasEnded: Bool { if case .ended = state { true } else { false } }

  /// When to call `passed(to:)`.
  public var nextMoment: BootInstant? {
    switch state {
    case .waiting: min(expiresAt, grantEndsAt ?? expiresAt)
    case .deciding: grantEndsAt
    case .ended: nil
    }
  }

  // MARK: callers

  /// False if it has ended: the caller asks anew.
  public mutating func joined(by asker: Asker) -> Bool {
    guard !hasEnded else { return false }
    askers.append(asker)
    return true
  }

  /// A caller went away. Without callers there is nothing to decide, but a verdict that is being written counts.
  public mutating func left(_ asker: Asker) -> [Effect] {
    askers.removeAll { $0 == asker }
    return askers.isEmpty && isWaiting ? end(.withdrawn) : []
  }

  // MARK: verdicts

  /// Nil if another verdict came first, or none is wanted any more.
  public mutating func decided(_ verdict: Verdict, by basis: Basis) -> [Effect]? {
    guard isWaiting else { return nil }
    state = .deciding(verdict, basis)
    return [.record(verdict, basis)]
  }

  /// The audit log has the verdict.
  public mutating func recorded() -> [Effect] {
    guard case .deciding(let verdict, let basis) = state else { return [] }
    let kept: [Effect] =
      switch verdict {
      case .once: []
      case .session: [.keepAllowance(basis)]
      case .deny: [.keepRefusal]
      }
    return kept + end(.decided(verdict, basis))
  }

  /// The audit log does not take the verdict: it was none.
  public mutating func notRecorded() -> [Effect] {
    guard case .deciding = state else { return [] }
    state = .waiting
    return askers.isEmpty ? end(.withdrawn) : []
  }

  /// Verdicts for the session about other requests allow this one, too.
  public mutating func allowed(by basis: Basis) -> [Effect] { isWaiting ? end(.decided(.session, basis)) : [] }

  // MARK: ends

  public mutating func passed(to now: BootInstant) -> [Effect] {
    if hasEnded { return [] }
    if let grantEndsAt, now >= grantEndsAt { return end(.grantEnded) }
    // A verdict that came in time counts.
    return isWaiting && now >= expiresAt ? end(.timedOut) : []
  }

  public mutating func grantEnded() -> [Effect] { hasEnded ? [] : end(.grantEnded) }

  public mutating func locked() -> [Effect] { hasEnded ? [] : end(.locked) }

  public mutating func shutDown() -> [Effect] { hasEnded ? [] : end(.shuttingDown) }

  private mutating func end(_ end: End) -> [Effect] {
    state = .ended(end)
    defer { askers = [] }
    return askers.map { .answer($0, end) } + [.tell(end)]
  }
}
