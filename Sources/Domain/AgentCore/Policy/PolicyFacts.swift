public import AgentModel

/// The inputs of a decision. Equal facts give equal decisions.
public struct PolicyFacts: Hashable, Sendable {
  /// The account state, as in the result of `session.get`.
  public enum State: String, Hashable, Sendable, CaseIterable {
    case active, offlineStale, interactionRequired, reauthenticationRequired, locked, signedOut
  }

  /// The account's access token for all granted scopes.
  public enum Token: Hashable, Sendable {
    /// Valid for `remaining`; nil: the provider named no expiry.
    case unexpired(remaining: Milliseconds?)
    case expired
    case none
  }

  /// The authorization snapshot, as far as decisions need it.
  public struct Snapshot: Hashable, Sendable {
    public var roles: NameSet
    /// True if the provider has reported roles, possibly none.
    public var knowsRoles = true
    /// True if the provider has reported entitlements, possibly none.
    public var knowsEntitlements = true
    /// False if no answer of the provider reports entitlements.
    public var learnsEntitlements = true
    public var scopes: Set<String>
    public var entitlements: NameSet
    public var age: Milliseconds
    public var version: UInt64

    public init(
      roles: NameSet, scopes: Set<String>, entitlements: NameSet, age: Milliseconds, version: UInt64
    ) {
      self.roles = roles
      self.scopes = scopes
      self.entitlements = entitlements
      self.age = age
      self.version = version
    }
  }

  public var state: State
  /// Why the account's session is over, as error 2004 tells it; nil if it is not, or if that is only assumed.
  public var endReason: String?
  /// False if nothing ever asks the provider about the account: only a key that the person gives confirms it.
  public var providerCanBeAsked = true
  /// True if the account's provider is known to be reachable. Unknown counts as offline; other providers do not count.
  public var isOnline: Bool
  /// Time since the provider last confirmed the account; nil: it never did.
  public var confirmationAge: Milliseconds?
  public var token: Token
  /// Scopes of the current access token; nil if unknown. They narrow those of the snapshot.
  public var tokenScopes: Set<String>?
  public var snapshot: Snapshot?
  /// Time since the last step-up, by method.
  public var stepUpAges: [StepUpMethod: Milliseconds]
  /// Time until a step-up ends, by method, even if a rule accepts a greater age. Without an entry it does not end.
  public var stepUpsLeft: [StepUpMethod: Milliseconds]
  /// Time since a person confirmed this capability for this caller in the agent's own prompt, by capability.
  public var confirmations: [String: Milliseconds] = [:]
  /// A person approves the request where a capability wants that, and gives the capability's step-up with the verdict.
  public var isApprovedByPerson = false
  /// The uses of capabilities with a budget. Without an entry the budget does not count.
  public var budgets: [String: BudgetWindow] = [:]
  public var clock: ClockTrust
  /// By how much a suspect clock is behind the known time; nil if that is only assumed.
  public var clockBehind: Milliseconds?

  public init(
    state: State, isOnline: Bool, confirmationAge: Milliseconds?, token: Token, tokenScopes: Set<String>? = nil,
    snapshot: Snapshot?, stepUpAges: [StepUpMethod: Milliseconds] = [:],
    stepUpsLeft: [StepUpMethod: Milliseconds] = [:], clock: ClockTrust = .trusted
  ) {
    self.state = state
    self.isOnline = isOnline
    self.confirmationAge = confirmationAge
    self.token = token
    self.tokenScopes = tokenScopes
    self.snapshot = snapshot
    self.stepUpAges = stepUpAges
    self.stepUpsLeft = stepUpsLeft
    self.clock = clock
  }
}

/// The caller's context of a decision. It can only narrow the result.
public struct PolicyContext: Hashable, Sendable {
  public var sensitivity: Sensitivity?

  public init(sensitivity: Sensitivity? = nil) { self.sensitivity = sensitivity }
}
