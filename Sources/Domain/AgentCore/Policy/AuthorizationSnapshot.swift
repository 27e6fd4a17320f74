public import AgentModel

/// What a person may do, as the provider told it last (DESIGN, Offline authorization).
///
/// A provider's word of a moment: decisions made from it say how old it is, and never grant more than it does.
public struct AuthorizationSnapshot: Hashable, Sendable {
  /// What it was read from, as `snapshot.get` tells it.
  public enum Source: String, Hashable, Sendable { case signIn, refresh, entitlements }

  public var roles: Set<String>
  public var scopes: ScopeSet
  public var entitlements: Set<String>
  /// When the provider said so; its age is `TrustedTime.elapsed(since:by:at:)`.
  public var fetchedAt: TrustedInstant
  /// Grows by one with each that says something else. 0: there was none yet.
  public var version: UInt64
  public var source: Source

  public init(
    roles: Set<String>, scopes: ScopeSet, entitlements: Set<String>, fetchedAt: TrustedInstant, version: UInt64,
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
