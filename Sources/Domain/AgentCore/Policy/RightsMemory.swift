public import AgentModel

/// A person's rights as a provider reported them, each part with the time of its report. `snapshot` is derived from it.
///
/// - R1: the latest report replaces an earlier one; a right that was never reported is never added.
/// - R2: `version` grows by one with each change of content and never decreases.
/// - R3: the snapshot is as old as its oldest part: a response without roles does not refresh the roles.
public struct RightsMemory: Hashable, Sendable {
  /// A reported value and the time of its report.
  public struct Part<Value: Hashable & Sendable>: Hashable, Sendable {
    public var value: Value
    public var toldAt: TrustedInstant

    public init(_ value: Value, toldAt: TrustedInstant) {
      self.value = value
      self.toldAt = toldAt
    }
  }

  public var scopes: Part<ScopeSet>
  /// Nil if no response has reported roles.
  public var roles: Part<NameSet>?
  public var entitlements: Part<NameSet>?
  /// Readable tokens had no entitlements: the person is known to have none, although `entitlements` is nil.
  public var hasNoEntitlements: Bool
  /// The last token response had no roles: ask the userinfo endpoint, if the provider has one.
  public var rolesAreOwed: Bool
  public var version: UInt64
  /// Counts all reports, so that the later of two memories is known.
  public var revision: UInt64
  public var source: AuthorizationSnapshot.Source

  public init(
    scopes: Part<ScopeSet>, roles: Part<NameSet>?, entitlements: Part<NameSet>?,
    hasNoEntitlements: Bool = false, rolesAreOwed: Bool, version: UInt64, revision: UInt64,
    source: AuthorizationSnapshot.Source
  ) {
    self.scopes = scopes
    self.roles = roles
    self.entitlements = entitlements
    self.hasNoEntitlements = hasNoEntitlements
    self.rolesAreOwed = rolesAreOwed
    self.version = version
    self.revision = revision
    self.source = source
  }

  /// The first report for an account.
  public init(_ update: RightsUpdate, at instant: TrustedInstant) {
    scopes = Part(update.scopes ?? ScopeSet([]), toldAt: instant)
    roles = update.roles.map { Part($0, toldAt: instant) }
    entitlements = update.entitlements.map { Part($0, toldAt: instant) }
    hasNoEntitlements = update.namesNoEntitlements
    rolesAreOwed = update.roles == nil
    version = 1
    revision = 1
    source = update.source
  }

  /// True if the provider has reported entitlements, possibly none. Until then a person may have any.
  public var knowsEntitlements: Bool { entitlements != nil || hasNoEntitlements }

  /// The rights as of the oldest part.
  public var snapshot: AuthorizationSnapshot {
    let moments = [scopes.toldAt, roles?.toldAt, entitlements?.toldAt].compactMap { $0 }
    return AuthorizationSnapshot(
      roles: roles?.value ?? [], scopes: scopes.value, entitlements: entitlements?.value ?? [],
      fetchedAt: TrustedInstant.earliest(moments) ?? scopes.toldAt, version: version, source: source)
  }

  /// Applies a report; true if the snapshot's content changed. A nil `instant` means that the time of the response is
  /// unknown: its content is applied and the parts keep their age.
  @discardableResult
  public mutating func apply(_ update: RightsUpdate, at instant: TrustedInstant?) -> Bool {
    let before = snapshot
    if update.confirmsGrant || update.scopes != nil {
      scopes = Part(update.scopes ?? scopes.value, toldAt: instant ?? scopes.toldAt)
    }
    roles = Self.part(update.roles, at: instant, replacing: roles, oldest: scopes.toldAt)
    rolesAreOwed = update.roles == nil && (update.confirmsGrant || rolesAreOwed)
    if update.namesNoEntitlements {
      entitlements = nil
      hasNoEntitlements = true
    } else if update.entitlements != nil || update.leavesEntitlementsToEndpoint {
      hasNoEntitlements = false
    }
    entitlements = Self.part(update.entitlements, at: instant, replacing: entitlements, oldest: scopes.toldAt)
    source = update.source
    revision += 1
    let now = snapshot
    // The names alone: that the provider told others, which are not kept, changes nothing that is told of the snapshot.
    let isChanged =
      now.roles != before.roles || now.scopes.names != before.scopes.names || now.entitlements != before.entitlements
    if isChanged { version += 1 }
    return isChanged
  }

  /// The part after a report; `known` if the report leaves it out.
  private static func part(
    _ reported: NameSet?, at instant: TrustedInstant?, replacing known: Part<NameSet>?, oldest: TrustedInstant
  ) -> Part<NameSet>? {
    guard let reported else { return known }
    return Part(reported, toldAt: instant ?? known?.toldAt ?? oldest)
  }
}

extension TrustedInstant {
  /// Not later than any of `instants` on either clock, so that no age is understated.
  static func earliest(_ instants: [TrustedInstant]) -> TrustedInstant? {
    guard let time = instants.map(\.time).min(), let lived = instants.map(\.lived).min() else { return nil }
    return TrustedInstant(time: time, lived: lived)
  }
}
