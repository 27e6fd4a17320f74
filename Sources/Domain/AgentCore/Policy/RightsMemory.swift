public import AgentModel

/// What a provider told of a person's rights, each part with the moment it was told; the snapshot is read off it.
///
/// - R1: what was told last counts, and nothing that nobody told is ever added.
/// - R2: `version` grows by one with each change of what is said, and never goes back.
/// - R3: the snapshot is as old as its oldest part: an answer that says nothing of the roles makes them no younger.
public struct RightsMemory: Hashable, Sendable {
  public struct Part<Value: Hashable & Sendable>: Hashable, Sendable {
    public var value: Value
    public var toldAt: TrustedInstant

    public init(_ value: Value, toldAt: TrustedInstant) {
      self.value = value
      self.toldAt = toldAt
    }
  }

  public var scopes: Part<ScopeSet>
  /// Nil while nobody told any.
  public var roles: Part<Set<String>>?
  public var entitlements: Part<Set<String>>?
  /// The last exchange told no roles: whoever can be asked for them should be.
  public var rolesAreOwed: Bool
  public var version: UInt64
  /// Counts what was heard, so that of two memories the later one is known.
  public var revision: UInt64
  public var source: AuthorizationSnapshot.Source

  public init(
    scopes: Part<ScopeSet>, roles: Part<Set<String>>?, entitlements: Part<Set<String>>?,
    rolesAreOwed: Bool, version: UInt64, revision: UInt64, source: AuthorizationSnapshot.Source
  ) {
    self.scopes = scopes
    self.roles = roles
    self.entitlements = entitlements
    self.rolesAreOwed = rolesAreOwed
    self.version = version
    self.revision = revision
    self.source = source
  }

  /// The first that is known of an account.
  public init(_ told: RightsUpdate, at instant: TrustedInstant) {
    scopes = Part(told.scopes ?? ScopeSet([]), toldAt: instant)
    roles = told.roles.map { Part($0, toldAt: instant) }
    entitlements = told.entitlements.map { Part($0, toldAt: instant) }
    rolesAreOwed = told.roles == nil
    version = 1
    revision = 1
    source = told.source
  }

  public var snapshot: AuthorizationSnapshot {
    let moments = [scopes.toldAt, roles?.toldAt, entitlements?.toldAt].compactMap { $0 }
    return AuthorizationSnapshot(
      roles: roles?.value ?? [], scopes: scopes.value, entitlements: entitlements?.value ?? [],
      fetchedAt: TrustedInstant.earliest(moments) ?? scopes.toldAt, version: version, source: source)
  }

  /// Takes in an answer. `instant` is nil where nobody knows any more when it came: what it says counts, and makes
  /// nothing younger. Returns true if the snapshot says something else now.
  @discardableResult
  public mutating func hear(_ told: RightsUpdate, at instant: TrustedInstant?) -> Bool {
    let before = snapshot
    if told.confirmsGrant || told.scopes != nil {
      scopes = Part(told.scopes ?? scopes.value, toldAt: instant ?? scopes.toldAt)
    }
    roles = Self.heard(told.roles, at: instant, over: roles, oldest: scopes.toldAt)
    rolesAreOwed = told.roles == nil && (told.confirmsGrant || rolesAreOwed)
    if told.namesNoEntitlements { entitlements = nil }
    entitlements = Self.heard(told.entitlements, at: instant, over: entitlements, oldest: scopes.toldAt)
    source = told.source
    revision += 1
    let now = snapshot
    let says = now.roles != before.roles || now.scopes != before.scopes || now.entitlements != before.entitlements
    if says { version += 1 }
    return says
  }

  private static func heard(
    _ told: Set<String>?, at instant: TrustedInstant?, over known: Part<Set<String>>?, oldest: TrustedInstant
  ) -> Part<Set<String>>? {
    guard let told else { return known }
    return Part(told, toldAt: instant ?? known?.toldAt ?? oldest)
  }
}

extension TrustedInstant {
  /// Older than each of them by either clock, so that no age is told too short.
  static func earliest(_ instants: [TrustedInstant]) -> TrustedInstant? {
    guard let time = instants.map(\.time).min(), let lived = instants.map(\.lived).min() else { return nil }
    return TrustedInstant(time: time, lived: lived)
  }
}
