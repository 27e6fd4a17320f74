public import AgentModel

/// What was decided, and why: every check that failed, and what would help.
public struct Decision: Hashable, Sendable {
  public enum Effect: String, Hashable, Sendable, CaseIterable { case allow, deny, readOnly }

  /// The words of the contract (API.md, A decision).
  public enum Reason: String, Hashable, Sendable, CaseIterable {
    case allowed, unknownCapability, accountLocked, signedOut, reauthenticationRequired, neverAuthenticated,
      clockSuspect, snapshotMissing, snapshotTooOld, missingRole, missingScope, missingEntitlement, forbidden,
      onlineRequired, freshTokenRequired, offlineWindowExpired, stepUpRequired, sensitivityTooHigh, policyError
  }

  /// What would help, in the order in which to try it.
  public enum Remedy: String, Hashable, Sendable, CaseIterable, Comparable {
    case unlock, connect, stepUp, interact, reauthenticate, administrator

    public static func < (a: Remedy, b: Remedy) -> Bool {
      allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)!
    }
  }

  /// What is looked at, as `failed[].check` names it.
  public enum Check: String, Hashable, Sendable, CaseIterable {
    case policy, capability, state, forbids, clock, snapshot, roles, scopes, entitlements, online, token, window,
      stepUp, sensitivity
  }

  /// What was compared with what: numbers and names, never anything secret.
  public enum Fact: Hashable, Sendable {
    case seconds(Int64)
    case word(String)
    case words([String])
  }

  public struct Failure: Hashable, Sendable {
    public var check: Check
    public var reason: Reason
    public var facts: [String: Fact]

    public init(_ check: Check, _ reason: Reason, _ facts: [String: Fact] = [:]) {
      self.check = check
      self.reason = reason
      self.facts = facts
    }
  }

  public var capability: String
  public var effect: Effect
  public var reason: Reason
  /// In the order of the checks; the first is the reason.
  public var failed: [Failure]
  /// What the caller has to do; empty if it is denied.
  public var obligations: [String]
  public var remedies: [Remedy]
  /// For how long it holds by time alone; nil if it is denied, or nothing in it runs out.
  public var validFor: Milliseconds?
  /// An empty name: there was no policy.
  public var policyName: String
  public var policyVersion: Int64
  public var snapshotVersion: UInt64
}
