public import AgentModel

/// What an organisation allows, and under which conditions: `Schemas/policy.schema.json`, read and resolved (DESIGN,
/// Offline authorization). A tier's defaults are filled in already, so that a decision looks at one capability only.
public struct PolicyDocument: Hashable, Sendable {
  public let name: String
  /// Never decreases.
  public let version: Int64
  public let capabilities: [String: Capability]
  /// The longest time without the provider that any capability allows; nil if none allows any.
  public let longestOfflineWindow: Milliseconds?
  /// The oldest step-up that any capability is content with; nil if none asks for one.
  public let longestStepUpAge: Milliseconds?

  public init(name: String, version: Int64, capabilities: [String: Capability]) {
    self.name = name
    self.version = version
    self.capabilities = capabilities
    longestOfflineWindow = capabilities.values.compactMap(\.offlineWindow).max()
    longestStepUpAge = capabilities.values.compactMap { $0.stepUp?.maxAge }.max()
  }
}

/// One thing that a person may do, and under which conditions. Durations are whole seconds.
public struct Capability: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable { case read, write }

  /// What a capability asks of the access token.
  public enum TokenRule: String, Hashable, Sendable, CaseIterable {
    case any, unexpired
    /// Online, with a token that the provider accepts now.
    case fresh
  }

  /// What becomes of it while the provider asks for a new sign-in.
  public enum ReauthenticationRule: String, Hashable, Sendable, CaseIterable { case deny, readOnly }

  /// What becomes of it while the wall clock contradicts what is known of the time.
  public enum SuspectClockRule: String, Hashable, Sendable, CaseIterable {
    case deny
    /// Windows run from the mark and never lengthen (DESIGN, Time).
    case shrink
  }

  public struct StepUpRule: Hashable, Sendable {
    public var method: StepUpMethod
    public var maxAge: Milliseconds

    public init(method: StepUpMethod, maxAge: Milliseconds) {
      self.method = method
      self.maxAge = maxAge
    }
  }

  /// What the person must hold; every member that is given must be met.
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

  /// Denies whoever fits every condition that is given; without one, everybody.
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
  /// How sensitive the data may be that it is asked for. Who names none clears it for public data.
  public var sensitivity = Sensitivity.public
  public var requires = Requirements()
  /// The age of the last online confirmation up to which it is allowed without the provider; nil: not at all.
  public var offlineWindow: Milliseconds?
  public var token = TokenRule.any
  /// A confirmation this recent stands in for `fresh`.
  public var onlineWithin: Milliseconds?
  public var stepUp: StepUpRule?
  public var snapshotMaxAge: Milliseconds?
  public var onReauthentication = ReauthenticationRule.deny
  public var onClockSuspect = SuspectClockRule.deny
  /// What the caller has to do if it is allowed; for the caller to read.
  public var obligations: [String] = []
  public var forbids: [Forbid] = []

  public init(kind: Kind) { self.kind = kind }
}

/// How sensitive data is, from the least.
public enum Sensitivity: String, Hashable, Comparable, Sendable, CaseIterable {
  case `public`, `internal`, confidential, restricted

  public static func < (a: Sensitivity, b: Sensitivity) -> Bool {
    allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)!
  }
}
