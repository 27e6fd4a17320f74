import AgentCore
import AgentModel
import Testing

/// The snapshot of a person's rights, as the provider's answers change it.
@Suite struct RightsMemoryTests {
  static func moment(_ seconds: Int64) -> TrustedInstant {
    TrustedInstant(time: Timestamp(milliseconds: 1_000_000 + seconds * 1000), lived: .seconds(seconds))
  }

  static func signIn(roles: NameSet? = ["technician"], entitlements: NameSet? = nil) -> RightsMemory {
    RightsMemory(
      RightsUpdate(
        roles: roles, scopes: ScopeSet(["openid", "orders"]), entitlements: entitlements, source: .signIn,
        confirmsGrant: true), at: moment(0))
  }

  static func exchange(
    roles: NameSet? = nil, scopes: ScopeSet? = nil, entitlements: NameSet? = nil
  ) -> RightsUpdate {
    RightsUpdate(roles: roles, scopes: scopes, entitlements: entitlements, source: .refresh, confirmsGrant: true)
  }

  @Test func unchangedRights_renewTheSnapshotUnderTheSameVersion() {
    var rights = Self.signIn()
    let isNews = rights.apply(Self.exchange(roles: ["technician"]), at: Self.moment(60))
    #expect(!isNews)
    #expect(rights.snapshot.version == 1 && rights.snapshot.fetchedAt == Self.moment(60))
    #expect(rights.snapshot.source == .refresh && rights.revision == 2)
  }

  @Test func changedRights_raiseTheSnapshotVersionByOne() {
    var rights = Self.signIn()
    let isNews = rights.apply(Self.exchange(roles: ["auditor"], scopes: ScopeSet(["openid"])), at: Self.moment(60))
    #expect(isNews)
    #expect(rights.snapshot.version == 2)
    #expect(rights.snapshot.roles == ["auditor"] && rights.snapshot.scopes == ScopeSet(["openid"]))
  }

  /// The record keeps the names of scopes alone, and not that others were told.
  @Test func scopesThatAreNotKept_areNoChange() {
    var rights = Self.signIn()
    let told = ScopeSet(["openid", "orders"], lacksSome: true)
    let isNews = rights.apply(Self.exchange(roles: ["technician"], scopes: told), at: Self.moment(60))
    #expect(!isNews && rights.snapshot.version == 1)
  }

  @Test func exchangeWithoutRoles_keepsTheRolesAndTheirAge() {
    var rights = Self.signIn()
    let isNews = rights.apply(Self.exchange(), at: Self.moment(60))
    #expect(!isNews)
    #expect(rights.snapshot.roles == ["technician"])
    #expect(rights.snapshot.fetchedAt == Self.moment(0), "as old as what was said of the roles")
    #expect(rights.rolesAreOwed)
    rights.apply(RightsUpdate(roles: ["technician"], source: .refresh), at: Self.moment(61))
    #expect(!rights.rolesAreOwed && rights.snapshot.fetchedAt == Self.moment(60))
  }

  @Test func exchangeWithoutScopes_confirmsTheKnownScopes() {
    var rights = Self.signIn(roles: nil)
    rights.apply(Self.exchange(), at: Self.moment(60))
    #expect(rights.snapshot.fetchedAt == Self.moment(60))
    #expect(rights.snapshot.scopes == ScopeSet(["openid", "orders"]))
  }

  @Test func entitlementsFetch_confirmsNoScopes() {
    var rights = Self.signIn(roles: nil)
    rights.apply(RightsUpdate(entitlements: ["offline"], source: .entitlements), at: Self.moment(60))
    #expect(rights.snapshot.entitlements == ["offline"])
    #expect(rights.snapshot.fetchedAt == Self.moment(0))
  }

  @Test func rightsWithoutADate_areTakenWithoutRenewingTheSnapshot() {
    var rights = Self.signIn()
    let isNews = rights.apply(Self.exchange(roles: [], entitlements: ["offline"]), at: nil)
    #expect(isNews)
    #expect(rights.snapshot.roles.isEmpty && rights.snapshot.entitlements == ["offline"])
    #expect(rights.snapshot.fetchedAt == Self.moment(0))
  }

  @Test func entitlementsThatTokensNoLongerName_areRemoved() {
    var rights = Self.signIn(entitlements: ["offline"])
    var told = Self.exchange(roles: ["technician"])
    told.namesNoEntitlements = true
    let isNews = rights.apply(told, at: Self.moment(60))
    #expect(isNews)
    #expect(rights.snapshot.entitlements.isEmpty && rights.snapshot.version == 2)
    // No entitlements were reported this time: an age kept for them would only grow.
    rights.apply(Self.exchange(roles: ["technician"]), at: Self.moment(120))
    #expect(rights.snapshot.fetchedAt == Self.moment(120))
  }

  @Test func entitlements_areKnownOnceTheirPlaceToldThem() {
    var rights = Self.signIn()
    #expect(!rights.knowsEntitlements)
    var told = Self.exchange()
    told.namesNoEntitlements = true
    rights.apply(told, at: Self.moment(60))
    #expect(rights.knowsEntitlements, "readable tokens without the claim: none")
    rights.apply(Self.exchange(), at: Self.moment(61))
    #expect(rights.knowsEntitlements, "an opaque answer changes nothing")
    // An address was configured for them: what tokens left out means nothing any more.
    told = Self.exchange()
    told.leavesEntitlementsToEndpoint = true
    rights.apply(told, at: Self.moment(62))
    #expect(!rights.knowsEntitlements)
    rights.apply(RightsUpdate(entitlements: [], source: .entitlements), at: Self.moment(63))
    #expect(rights.knowsEntitlements)
  }

  @Test func snapshotAge_isTheOldestByEitherClock() {
    var rights = Self.signIn()
    // The server's clock was set back: later by elapsed time, earlier by its own date.
    let odd = TrustedInstant(time: Timestamp(milliseconds: 500_000), lived: .seconds(60))
    rights.apply(RightsUpdate(entitlements: ["offline"], source: .entitlements), at: odd)
    #expect(rights.snapshot.fetchedAt == TrustedInstant(time: odd.time, lived: .zero))
  }
}

/// Which answers of a provider count for which rights.
@Suite struct RightsRuleTests {
  static let claims = RightsRule(rolesClaim: "roles", hasUserInfo: false, hasEntitlementsURL: false)

  static func told(_ rule: RightsRule, id: RightsClaims? = nil, access: RightsClaims? = nil) -> RightsUpdate {
    rule.rightsUpdate(idToken: id, accessToken: access, scopes: nil, source: .refresh)
  }

  @Test func idTokenRoles_takePrecedenceOverAccessTokenRoles() {
    let told = Self.told(Self.claims, id: RightsClaims(roles: ["a"]), access: RightsClaims(roles: ["b"]))
    #expect(told.roles == ["a"])
    #expect(Self.told(Self.claims, id: RightsClaims(), access: RightsClaims(roles: ["b"])).roles == ["b"])
  }

  @Test func idTokenWithoutTheRolesClaim_meansNoRoles() {
    #expect(Self.told(Self.claims, id: RightsClaims()).roles == [])
    #expect(Self.told(Self.claims).roles == nil, "no readable token")
  }

  @Test func idTokenWithoutRolesBesideUserInfo_leavesRolesUnknown() {
    let rule = RightsRule(rolesClaim: "roles", hasUserInfo: true, hasEntitlementsURL: false)
    #expect(Self.told(rule, id: RightsClaims()).roles == nil)
    #expect(rule.rightsUpdate(userInfo: RightsClaims(), source: .refresh).roles == [])
  }

  @Test func providerWithoutARolesClaim_grantsNoRoles() {
    let rule = RightsRule(rolesClaim: nil, hasUserInfo: true, hasEntitlementsURL: false)
    #expect(Self.told(rule, id: RightsClaims(roles: ["a"])).roles == [])
  }

  @Test func providerWithAnEntitlementsURL_ignoresEntitlementsInTokens() throws {
    let rule = RightsRule(rolesClaim: nil, hasUserInfo: false, hasEntitlementsURL: true)
    let told = Self.told(rule, access: RightsClaims(entitlements: ["all"]))
    #expect(told.entitlements == nil && told.roles == nil && !told.namesNoEntitlements)
    let document = try #require(try RightsJSON.document(#"{"entitlements":["offline"],"roles":["a"]}"#))
    #expect(rule.rightsUpdate(document).roles == ["a"])
    let both = RightsRule(rolesClaim: "roles", hasUserInfo: false, hasEntitlementsURL: true)
    #expect(both.rightsUpdate(document).roles == nil, "the claim was configured for them")
  }
}
