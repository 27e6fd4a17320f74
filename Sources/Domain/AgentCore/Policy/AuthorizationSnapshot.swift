public import AgentModel

/// A person's roles, scopes and entitlements as the provider last reported them (docs/offline.md, Decisions).
///
/// A decision from a snapshot states the snapshot's age and grants no more than the snapshot does.
public struct AuthorizationSnapshot: Hashable, Sendable {
  /// The source of the latest part, as in the result of `snapshot.get`.
  public enum Source: String, Hashable, Sendable { case signIn, refresh, entitlements }

  public var roles: NameSet
  public var scopes: ScopeSet
  public var entitlements: NameSet
  /// When the provider reported it; `TrustedTime.elapsed(since:by:at:)` gives the age.
  public var fetchedAt: TrustedInstant
  /// Grows by one with each change of content; 0: no snapshot yet.
  public var version: UInt64
  public var source: Source

  public init(
    roles: NameSet, scopes: ScopeSet, entitlements: NameSet, fetchedAt: TrustedInstant, version: UInt64,
    source: Source
  ) {
    self.roles = roles
    self.scopes = scopes
    self.entitlements = entitlements
    self.fetchedAt = fetchedAt
    self.version = version
    self.source = source
  }
}
