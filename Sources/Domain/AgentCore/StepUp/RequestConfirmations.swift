public import AgentModel

/// What persons confirmed in the agent's own prompt: one capability of an account, for one grant. Kept in memory only, on
/// the boot clock. How long a confirmation counts is the policy's word.
public struct RequestConfirmations: Hashable, Sendable {
  private struct Key: Hashable {
    var capability: String
    /// Nil for a caller without a grant.
    var grant: String?
  }

  /// Bounds the memory of an account; beyond it the oldest are forgotten.
  static let most = 1024

  private var moments: [AccountID: [Key: BootInstant]] = [:]

  public init() {}

  public mutating func confirm(
    _ id: AccountID, _ capabilities: [String], for grant: String?, at now: BootInstant
  ) {
    for capability in capabilities { moments[id, default: [:]][Key(capability: capability, grant: grant)] = now }
    while let known = moments[id], known.count > Self.most, let oldest = known.min(by: { $0.value < $1.value }) {
      moments[id]?[oldest.key] = nil
    }
  }

  /// The age of each confirmation for this grant, by capability.
  public func ages(_ id: AccountID, for grant: String?, at now: BootInstant) -> [String: Milliseconds] {
    var ages: [String: Milliseconds] = [:]
    for (key, moment) in moments[id] ?? [:] where key.grant == grant {
      ages[key.capability] = max(.zero, now - moment)
    }
    return ages
  }

  public func hasSome(_ id: AccountID) -> Bool { moments[id] != nil }

  public mutating func clear(_ id: AccountID) { moments[id] = nil }
}
