public import AgentModel

/// What one answer of a provider says of a person's rights. What it leaves out is nil, so that nobody takes silence
/// for "none".
public struct RightsUpdate: Hashable, Sendable {
  public var roles: Set<String>?
  public var scopes: ScopeSet?
  public var entitlements: Set<String>?
  public var source: AuthorizationSnapshot.Source
  /// Tokens that can be read name no entitlements: there are none, and nobody is asked for them.
  public var namesNoEntitlements = false
  /// It was an exchange: what was granted stands, also where the answer does not repeat it (RFC 6749 §5.1).
  public var confirmsGrant: Bool

  public init(
    roles: Set<String>? = nil, scopes: ScopeSet? = nil, entitlements: Set<String>? = nil,
    source: AuthorizationSnapshot.Source, confirmsGrant: Bool = false
  ) {
    self.roles = roles
    self.scopes = scopes
    self.entitlements = entitlements
    self.source = source
    self.confirmsGrant = confirmsGrant
  }

  /// More than any real person has; what is beyond is left out, which only narrows.
  public static let mostRoles = 256
  public static let mostEntitlements = 1024
  /// Of one name, in characters.
  public static let longestName = 256

  /// Names as a snapshot may hold them.
  public static func bounded(_ names: some Sequence<String>, atMost bound: Int) -> Set<String> {
    let fitting = Set(names.filter { !$0.isEmpty && $0.unicodeScalars.count <= longestName })
    return fitting.count <= bound ? fitting : Set(fitting.sorted().prefix(bound))
  }
}

/// Where a provider tells which rights, as it was configured and as it says of itself.
public struct RightsRule: Hashable, Sendable {
  /// The claim with the roles; nil: no token is looked at for them.
  public var rolesClaim: String?
  /// Userinfo can be asked for roles that no token tells.
  public var hasUserInfo: Bool
  /// Entitlements have an address of their own: what tokens say of them does not count.
  public var hasEntitlementsURL: Bool

  public init(rolesClaim: String?, hasUserInfo: Bool, hasEntitlementsURL: Bool) {
    self.rolesClaim = rolesClaim
    self.hasUserInfo = hasUserInfo
    self.hasEntitlementsURL = hasEntitlementsURL
  }

  /// What the tokens of an answer say together. Each is nil if it can't be read: an opaque token says nothing. Where
  /// both name roles, those of the ID token count, which is meant for the client.
  public func told(
    idToken: RightsClaims?, accessToken: RightsClaims?, scopes: ScopeSet?, source: AuthorizationSnapshot.Source
  ) -> RightsUpdate {
    var told = RightsUpdate(scopes: scopes, source: source, confirmsGrant: true)
    let canBeRead = idToken != nil || accessToken != nil
    if rolesClaim != nil {
      // Many providers leave the claim out where it would be empty, so who can be asked further is, and from the others
      // silence means none.
      told.roles = idToken?.roles ?? accessToken?.roles ?? (canBeRead && !hasUserInfo ? [] : nil)
    } else if !hasEntitlementsURL {
      told.roles = []
    }
    if !hasEntitlementsURL {
      told.entitlements = accessToken?.entitlements ?? idToken?.entitlements
      told.namesNoEntitlements = canBeRead && told.entitlements == nil
    }
    return told
  }

  /// What userinfo says; without the claim, that there are no roles.
  public func told(userInfo: RightsClaims, source: AuthorizationSnapshot.Source) -> RightsUpdate {
    RightsUpdate(roles: userInfo.roles ?? [], source: source)
  }

  /// What the entitlements' address says. Its roles count where no claim was configured for them, so that two tellers
  /// never take turns.
  public func told(_ document: EntitlementsDocument) -> RightsUpdate {
    RightsUpdate(
      roles: rolesClaim == nil ? document.roles ?? [] : nil, entitlements: document.entitlements, source: .entitlements)
  }
}
