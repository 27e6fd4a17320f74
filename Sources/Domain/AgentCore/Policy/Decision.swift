public import AgentModel

/// The result of a policy decision: the effect, every failed check, and remedies.
public struct Decision: Hashable, Sendable {
  public enum Effect: String, Hashable, Sendable, CaseIterable { case allow, deny, readOnly }

  /// The reasons of the contract (docs/offline.md, Decisions).
  public enum Reason: String, Hashable, Sendable, CaseIterable {
    case allowed, unknownCapability, accountLocked, signedOut, reauthenticationRequired, neverAuthenticated,
      clockSuspect, snapshotMissing, snapshotTooOld, missingRole, missingScope, missingEntitlement, forbidden,
      onlineRequired, freshTokenRequired, offlineWindowExpired, stepUpRequired, sensitivityTooHigh, budgetExceeded,
      policyError
  }

  /// Actions that may change the decision, in the order in which to try them.
  public enum Remedy: String, Hashable, Sendable, CaseIterable, Comparable {
    case unlock, connect, stepUp, interact, reauthenticate, administrator

    public static func < (a: Remedy, b: Remedy) -> Bool {
      allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)!
    }
  }

  /// The checks of a decision, as in `failed[].check`.
  public enum Check: String, Hashable, Sendable, CaseIterable {
    case policy, capability, state, forbids, clock, snapshot, roles, scopes, entitlements, online, token, window,
      stepUp, sensitivity, budget
  }

  /// A value that a check compared: a number or names, never a secret.
  public enum Fact: Hashable, Sendable {
    case seconds(Int64)
    case word(String)
    case words([String])
  }

  /// A failed check.
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
  /// Failed checks in the order of checking; the reason of the first is `reason`.
  public var failed: [Failure]
  /// Obligations of the caller; empty if the effect is `deny`.
  public var obligations: [String]
  public var remedies: [Remedy]
  /// The time for which the decision holds if only time passes; nil if it was denied, or no part of it expires.
  public var validFor: Milliseconds?
  /// The name of the policy; empty if there was none.
  public var policyName: String
  public var policyVersion: Int64
  public var snapshotVersion: UInt64
  /// How the log gets the decision.
  public var audit = Capability.AuditRule.durable
  /// What the provider's answer may change about a denial; nil if it can't, or the decision is no denial.
  public var question: ProviderQuestion?

  public init(
    capability: String, effect: Effect, reason: Reason, failed: [Failure], obligations: [String], remedies: [Remedy],
    validFor: Milliseconds? = nil, policyName: String, policyVersion: Int64, snapshotVersion: UInt64,
    audit: Capability.AuditRule = .durable, question: ProviderQuestion? = nil
  ) {
    self.capability = capability
    self.effect = effect
    self.reason = reason
    self.failed = failed
    self.obligations = obligations
    self.remedies = remedies
    self.validFor = validFor
    self.policyName = policyName
    self.policyVersion = policyVersion
    self.snapshotVersion = snapshotVersion
    self.audit = audit
    self.question = question
  }
}

/// An action that can make a failed request succeed. A list is in the order in which to try.
public typealias Remedy = Decision.Remedy
