public import AgentModel

/// The rights that one response reports. A nil member was not reported, which differs from an empty set.
public struct RightsUpdate: Hashable, Sendable {
  public var roles: NameSet?
  public var scopes: ScopeSet?
  public var entitlements: NameSet?
  public var source: AuthorizationSnapshot.Source
  /// True if readable tokens had no `entitlements` claim: the person has none, and there is no endpoint to ask.
  public var namesNoEntitlements = false
  /// True if only the entitlements endpoint reports entitlements: their absence from tokens means nothing.
  public var leavesEntitlementsToEndpoint = false
  /// True for a token response: the granted scopes stay, even if the response does not repeat them (RFC 6749 §5.1).
  public var confirmsGrant: Bool

  public init(
    roles: NameSet? = nil, scopes: ScopeSet? = nil, entitlements: NameSet? = nil,
    source: AuthorizationSnapshot.Source, confirmsGrant: Bool = false
  ) {
    self.roles = roles
    self.scopes = scopes
    self.entitlements = entitlements
    self.source = source
    self.confirmsGrant = confirmsGrant
  }

  /// Upper bounds, above those of real accounts. Names beyond a bound are dropped, which can only narrow.
  public static let mostRoles = 256
  public static let mostEntitlements = 1024
  /// Upper bound for the length of a name, in code points.
  public static let longestName = 256

  /// Drops empty and overlong names, and names beyond `bound`.
  public static func bounded(_ names: some Sequence<String>, atMost bound: Int) -> NameSet {
    let fitting = NameSet(names.filter { !$0.isEmpty && $0.unicodeScalars.count <= longestName })
    return fitting.count <= bound ? fitting : NameSet(fitting.sorted().prefix(bound))
  }
}

/// Where a provider reports rights, from its configuration and its metadata.
public struct RightsRule: Hashable, Sendable {
  /// The claim that lists roles; nil: tokens are not searched for roles.
  public var rolesClaim: String?
  /// The provider has a userinfo endpoint that may report roles which tokens leave out.
  public var hasUserInfo: Bool
  /// An entitlements endpoint is configured; `entitlements` claims in tokens are ignored.
  public var hasEntitlementsURL: Bool

  public init(rolesClaim: String?, hasUserInfo: Bool, hasEntitlementsURL: Bool) {
    self.rolesClaim = rolesClaim
    self.hasUserInfo = hasUserInfo
    self.hasEntitlementsURL = hasEntitlementsURL
  }

  /// The report of a token response. A token argument is nil if the token is opaque or absent. If both tokens list
  /// roles, the ID token's count, because the client is its audience.
  public func rightsUpdate(
    idToken: RightsClaims?, accessToken: RightsClaims?, scopes: ScopeSet?, source: AuthorizationSnapshot.Source
  ) -> RightsUpdate {
    var update = RightsUpdate(scopes: scopes, source: source, confirmsGrant: true)
    let canBeRead = idToken != nil || accessToken != nil
    if rolesClaim != nil {
      // Many providers omit an empty roles claim. With a userinfo endpoint the roles stay unreported, so that it is
      // asked; without one they are none.
      update.roles = idToken?.roles ?? accessToken?.roles ?? (canBeRead && !hasUserInfo ? [] : nil)
    } else if !hasEntitlementsURL {
      update.roles = []
    }
    if hasEntitlementsURL {
      update.leavesEntitlementsToEndpoint = true
    } else {
      update.entitlements = accessToken?.entitlements ?? idToken?.entitlements
      update.namesNoEntitlements = canBeRead && update.entitlements == nil
    }
    return update
  }

  /// The report of a userinfo response; a missing claim means no roles.
  public func rightsUpdate(userInfo: RightsClaims, source: AuthorizationSnapshot.Source) -> RightsUpdate {
    RightsUpdate(roles: userInfo.roles ?? [], source: source)
  }

  /// The report of the entitlements endpoint. Its roles count only if no roles claim is configured, so that two sources
  /// never alternate.
  public func rightsUpdate(_ document: EntitlementsDocument) -> RightsUpdate {
    RightsUpdate(
      roles: rolesClaim == nil ? document.roles ?? [] : nil, entitlements: document.entitlements, source: .entitlements)
  }
}
