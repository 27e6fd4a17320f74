public import AgentModel

/// All that a decision is made from: the same facts give the same decision.
public struct PolicyFacts: Hashable, Sendable {
  /// An account's state, as `session.get` tells it.
  public enum State: String, Hashable, Sendable, CaseIterable {
    case active, offlineStale, interactionRequired, reauthenticationRequired, locked, signedOut
  }

  /// What there is of an access token for the granted scopes.
  public enum Token: Hashable, Sendable {
    /// Valid for this long; nil: without an end.
    case unexpired(remaining: Milliseconds?)
    case expired
    case none
  }

  public struct Snapshot: Hashable, Sendable {
    public var roles: Set<String>
    /// Somebody told the roles, if only that there are none.
    public var knowsRoles = true
    public var scopes: Set<String>
    public var entitlements: Set<String>
    public var age: Milliseconds
    public var version: UInt64

    public init(
      roles: Set<String>, scopes: Set<String>, entitlements: Set<String>, age: Milliseconds, version: UInt64
    ) {
      self.roles = roles
      self.scopes = scopes
      self.entitlements = entitlements
      self.age = age
      self.version = version
    }
  }

  public var state: State
  /// The account's provider can be reached, as far as is known. Not knowing is not being online, and neither is a way
  /// to others.
  public var isOnline: Bool
  /// How long ago the provider last confirmed the account; nil: it never did.
  public var confirmationAge: Milliseconds?
  public var token: Token
  /// The scopes of the token that is held, where they are known: they can only take from those of the snapshot.
  public var tokenScopes: Set<String>?
  public var snapshot: Snapshot?
  /// How long ago the person last proved to be there.
  public var stepUpAges: [StepUpMethod: Milliseconds]
  /// For how much longer each counts at all, whatever age a rule would take; without an entry, for as long as that.
  public var stepUpsLeft: [StepUpMethod: Milliseconds]
  public var clock: ClockTrust

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

  /// The provider stands behind the account now: it can be asked, and its last token has not run out. Once it asked
  /// for a new sign-in, a token that it issued before says nothing any more.
  var isConfirmedNow: Bool {
    guard isOnline, case .unexpired = token else { return false }
    return state == .active || state == .interactionRequired
  }
}

/// What the caller knows of the case at hand. It only ever narrows.
public struct PolicyContext: Hashable, Sendable {
  public var sensitivity: Sensitivity?

  public init(sensitivity: Sensitivity? = nil) { self.sensitivity = sensitivity }
}
