public import AgentModel

/// A parsed authorization policy: `Schemas/policy.schema.json` with tiers resolved (docs/offline.md, Policy). A
/// decision therefore reads a single `Capability`.
public struct PolicyDocument: Hashable, Sendable {
  public let name: String
  /// The version of the document; an update must not lower it.
  public let version: Int64
  public let capabilities: [String: Capability]
  /// The longest offline window of any capability; nil if no capability may be used offline.
  private let longestOfflineWindow: Milliseconds?
  /// The longest offline window of a capability that goes on while the provider wants a new sign-in.
  private let longestReadOnlyWindow: Milliseconds?
  /// The longest step-up age that any capability accepts; nil if no capability requires step-up.
  public let longestStepUpAge: Milliseconds?
  /// The requests that the capabilities name.
  let requestRules: RequestRules

  public init(name: String, version: Int64, capabilities: [String: Capability]) {
    self.name = name
    self.version = version
    self.capabilities = capabilities
    longestOfflineWindow = capabilities.values.compactMap(\.offlineWindow).max()
    longestReadOnlyWindow = capabilities.values.filter(\.isReadOnlyAfterwards).compactMap(\.offlineWindow).max()
    longestStepUpAge = capabilities.values.compactMap { $0.stepUp?.maxAge }.max()
    requestRules = RequestRules(capabilities)
  }

  /// The longest window that counts while the account is in this state; nil if none does.
  public func longestOfflineWindow(in state: PolicyFacts.State) -> Milliseconds? {
    switch state {
    case .active, .offlineStale, .interactionRequired: longestOfflineWindow
    case .reauthenticationRequired: longestReadOnlyWindow
    case .locked, .signedOut: nil
    }
  }
}

/// An action that a policy controls, with its conditions. Durations are whole seconds.
public struct Capability: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable { case read, write }

  /// The access token that a capability requires.
  public enum TokenRule: String, Hashable, Sendable, CaseIterable {
    case any, unexpired
    /// The provider confirmed the account within `onlineWithin`.
    case fresh
  }

  /// The effect on a capability while the account needs a new sign-in.
  public enum ReauthenticationRule: String, Hashable, Sendable, CaseIterable { case deny, readOnly }

  /// The effect on a capability while the wall clock is suspect.
  public enum SuspectClockRule: String, Hashable, Sendable, CaseIterable {
    case deny
    /// Allowed: ages are measured on trusted time, so windows never lengthen (docs/offline.md, Time).
    case shrink
  }

  /// How the log gets decisions about a capability (docs/storage.md, Repeats in a batch).
  public enum AuditRule: String, Hashable, Sendable, CaseIterable {
    /// Each one is on the disk before it is told.
    case durable
    /// A repeat is with the kernel before it is told, and on the disk within 100 ms.
    case batched
  }

  /// A required step-up: its method and maximum age.
  public struct StepUpRule: Hashable, Sendable {
    public var method: StepUpMethod
    public var maxAge: Milliseconds

    public init(method: StepUpMethod, maxAge: Milliseconds) {
      self.method = method
      self.maxAge = maxAge
    }
  }

  /// The rights that the person must hold. A nil member requires nothing; all others must be met.
  public struct Requirements: Hashable, Sendable {
    public var rolesAny: [String]?
    public var rolesAll: [String]?
    public var scopesAll: [String]?
    public var entitlementsAll: [String]?

    public init(
      rolesAny: [String]? = nil, rolesAll: [String]? = nil, scopesAll: [String]? = nil, entitlementsAll: [String]? = nil
    ) {
      self.rolesAny = rolesAny
      self.rolesAll = rolesAll
      self.scopesAll = scopesAll
      self.entitlementsAll = entitlementsAll
    }
  }

  /// Denies a person who meets all given conditions. A rule without conditions denies every person.
  public struct Forbid: Hashable, Sendable {
    public var whenRole: String?
    public var whenScope: String?
    public var whenEntitlement: String?

    public init(whenRole: String? = nil, whenScope: String? = nil, whenEntitlement: String? = nil) {
      self.whenRole = whenRole
      self.whenScope = whenScope
      self.whenEntitlement = whenEntitlement
    }
  }

  public var kind: Kind
  /// The requests that it decides about.
  public var requests: [RequestRule] = []
  /// The highest sensitivity of data that the capability covers; without a value in the policy, public data only.
  public var sensitivity = Sensitivity.public
  public var requires = Requirements()
  /// The time after the last online confirmation in which the capability may be used; nil: not offline.
  public var offlineWindow: Milliseconds?
  public var token = TokenRule.any
  /// The greatest age of a confirmation that counts as being online. Nil: `offlineWindow` alone if it applies; else
  /// `defaultOnlineWithin`, and only while the provider can be reached.
  public var onlineWithin: Milliseconds?
  public var stepUp: StepUpRule?
  /// A request under an AI agent's grant waits for a person, for this long at most; nil: it does not. The person who decides
  /// then gives the step-up in the request's place.
  public var approvalWait: Milliseconds?
  /// The uses that an account has in any 60 minutes; nil for any number.
  public var budgetPerHour: Int64?
  public var snapshotMaxAge: Milliseconds?
  public var onReauthentication = ReauthenticationRule.deny
  /// It goes on, for reading, while the provider wants a new sign-in.
  var isReadOnlyAfterwards: Bool { kind == .read && onReauthentication == .readOnly }
  public var onClockSuspect = SuspectClockRule.deny
  /// Obligations that an allowed decision passes to the caller.
  public var obligations: [String] = []
  public var forbids: [Forbid] = []
  /// Nil: `batched` for what reads data that is not confidential and asks for no step-up. With a budget each decision is
  /// `durable`.
  public var audit: AuditRule?

  public var auditRule: AuditRule {
    // A use is counted before it is told.
    if budgetPerHour != nil { return .durable }
    let isPlain = kind == .read && sensitivity < .confidential && stepUp == nil && approvalWait == nil
    return audit ?? (isPlain ? .batched : .durable)
  }

  public init(kind: Kind) { self.kind = kind }

  /// Long enough to act on a decision, and short enough that a right which was taken away soon ends.
  public static let defaultOnlineWithin = Milliseconds.seconds(60)
}

/// The sensitivity of data, from the lowest.
public enum Sensitivity: String, Hashable, Comparable, Sendable, CaseIterable {
  case `public`, `internal`, confidential, restricted

  public static func < (a: Sensitivity, b: Sensitivity) -> Bool {
    allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)!
  }
}
