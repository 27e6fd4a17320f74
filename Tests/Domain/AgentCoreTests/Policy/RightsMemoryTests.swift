import AgentCore
import AgentModel
import Testing

/// What is remembered of a provider's words about a person's rights.
@Suite struct RightsMemoryTests {
  static func moment(_ seconds: Int64) -> TrustedInstant {
    TrustedInstant(time: Timestamp(milliseconds: 1_000_000 + seconds * 1000), lived: .seconds(seconds))
  }

  static func signIn(roles: Set<String>? = ["technician"], entitlements: Set<String>? = nil) -> RightsMemory {
    RightsMemory(
      RightsUpdate(
        roles: roles, scopes: ScopeSet(["openid", "orders"]), entitlements: entitlements, source: .signIn,
        confirmsGrant: true), at: moment(0))
  }

  static func exchange(
    roles: Set<String>? = nil, scopes: ScopeSet? = nil, entitlements: Set<String>? = nil
  ) -> RightsUpdate {
    RightsUpdate(roles: roles, scopes: scopes, entitlements: entitlements, source: .refresh, confirmsGrant: true)
  }

  @Test func theSameWordsMakeItYoungerAndNoOtherVersion() {
    var rights = Self.signIn()
    let isNews = rights.apply(Self.exchange(roles: ["technician"]), at: Self.moment(60))
    #expect(!isNews)
    #expect(rights.snapshot.version == 1 && rights.snapshot.fetchedAt == Self.moment(60))
    #expect(rights.snapshot.source == .refresh && rights.revision == 2)
  }

  @Test func otherWordsGrowTheVersionByOne() {
    var rights = Self.signIn()
    let isNews = rights.apply(Self.exchange(roles: ["auditor"], scopes: ScopeSet(["openid"])), at: Self.moment(60))
    #expect(isNews)
    #expect(rights.snapshot.version == 2)
    #expect(rights.snapshot.roles == ["auditor"] && rights.snapshot.scopes == ScopeSet(["openid"]))
  }

  @Test func silenceIsNeitherNoneNorFresh() {
    var rights = Self.signIn()
    let isNews = rights.apply(Self.exchange(), at: Self.moment(60))
    #expect(!isNews)
    #expect(rights.snapshot.roles == ["technician"])
    #expect(rights.snapshot.fetchedAt == Self.moment(0), "as old as what was said of the roles")
    #expect(rights.rolesAreOwed)
    rights.apply(RightsUpdate(roles: ["technician"], source: .refresh), at: Self.moment(61))
    #expect(!rights.rolesAreOwed && rights.snapshot.fetchedAt == Self.moment(60))
  }

  @Test func anExchangeConfirmsScopesThatItDoesNotRepeat() {
    var rights = Self.signIn(roles: nil)
    rights.apply(Self.exchange(), at: Self.moment(60))
    #expect(rights.snapshot.fetchedAt == Self.moment(60))
    #expect(rights.snapshot.scopes == ScopeSet(["openid", "orders"]))
  }

  @Test func whatIsNotAnExchangeConfirmsNoScopes() {
    var rights = Self.signIn(roles: nil)
    rights.apply(RightsUpdate(entitlements: ["offline"], source: .entitlements), at: Self.moment(60))
    #expect(rights.snapshot.entitlements == ["offline"])
    #expect(rights.snapshot.fetchedAt == Self.moment(0))
  }

  @Test func wordsWithoutADateCountAndMakeNothingYounger() {
    var rights = Self.signIn()
    let isNews = rights.apply(Self.exchange(roles: [], entitlements: ["offline"]), at: nil)
    #expect(isNews)
    #expect(rights.snapshot.roles.isEmpty && rights.snapshot.entitlements == ["offline"])
    #expect(rights.snapshot.fetchedAt == Self.moment(0))
  }

  @Test func entitlementsThatTokensNoLongerNameAreGone() {
    var rights = Self.signIn(entitlements: ["offline"])
    var told = Self.exchange(roles: ["technician"])
    told.namesNoEntitlements = true
    let isNews = rights.apply(told, at: Self.moment(60))
    #expect(isNews)
    #expect(rights.snapshot.entitlements.isEmpty && rights.snapshot.version == 2)
    // Nobody told any: an age of theirs would only grow.
    rights.apply(Self.exchange(roles: ["technician"]), at: Self.moment(120))
    #expect(rights.snapshot.fetchedAt == Self.moment(120))
  }

  @Test func itIsAsOldAsTheOldestByEitherClock() {
    var rights = Self.signIn()
    // The server's clock was set back: later by what was lived, earlier by its own time.
    let odd = TrustedInstant(time: Timestamp(milliseconds: 500_000), lived: .seconds(60))
    rights.apply(RightsUpdate(entitlements: ["offline"], source: .entitlements), at: odd)
    #expect(rights.snapshot.fetchedAt == TrustedInstant(time: odd.time, lived: .zero))
  }
}

/// Which of a provider's words count for what.
@Suite struct RightsRuleTests {
  static let claims = RightsRule(rolesClaim: "roles", hasUserInfo: false, hasEntitlementsURL: false)

  static func told(_ rule: RightsRule, id: RightsClaims? = nil, access: RightsClaims? = nil) -> RightsUpdate {
    rule.rightsUpdate(idToken: id, accessToken: access, scopes: nil, source: .refresh)
  }

  @Test func theIDTokenSpeaksFirst() {
    let told = Self.told(Self.claims, id: RightsClaims(roles: ["a"]), access: RightsClaims(roles: ["b"]))
    #expect(told.roles == ["a"])
    #expect(Self.told(Self.claims, id: RightsClaims(), access: RightsClaims(roles: ["b"])).roles == ["b"])
  }

  @Test func aClaimThatIsGoneMeansNone() {
    #expect(Self.told(Self.claims, id: RightsClaims()).roles == [])
    #expect(Self.told(Self.claims).roles == nil, "nobody could read anything")
  }

  @Test func whereUserInfoCanBeAskedSilenceMeansNothing() {
    let rule = RightsRule(rolesClaim: "roles", hasUserInfo: true, hasEntitlementsURL: false)
    #expect(Self.told(rule, id: RightsClaims()).roles == nil)
    #expect(rule.rightsUpdate(userInfo: RightsClaims(), source: .refresh).roles == [])
  }

  @Test func withoutAClaimNoTokenGrantsRoles() {
    let rule = RightsRule(rolesClaim: nil, hasUserInfo: true, hasEntitlementsURL: false)
    #expect(Self.told(rule, id: RightsClaims(roles: ["a"])).roles == [])
  }

  @Test func entitlementsWithAnAddressOfTheirOwnAreNotReadFromTokens() throws {
    let rule = RightsRule(rolesClaim: nil, hasUserInfo: false, hasEntitlementsURL: true)
    let told = Self.told(rule, access: RightsClaims(entitlements: ["all"]))
    #expect(told.entitlements == nil && told.roles == nil && !told.namesNoEntitlements)
    let document = try #require(try RightsJSON.document(#"{"entitlements":["offline"],"roles":["a"]}"#))
    #expect(rule.rightsUpdate(document).roles == ["a"])
    let both = RightsRule(rolesClaim: "roles", hasUserInfo: false, hasEntitlementsURL: true)
    #expect(both.rightsUpdate(document).roles == nil, "the claim was configured for them")
  }
}
