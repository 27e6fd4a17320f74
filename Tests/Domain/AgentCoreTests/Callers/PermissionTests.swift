import AgentCore
import AgentModel
import Testing

/// Methods and accounts that a limited caller may use.
struct PermissionTests {
  private static let table: [(name: String, mustBeNamed: Bool)] = [
    ("token.get", false), ("token.refresh", false), ("tokens.get", false), ("account.list", false),
    ("agent.status", false), ("agent.shutdown", true), ("provider.get", false), ("provider.remove", true),
  ]

  private static func methods(_ patterns: String...) -> Set<String> {
    Permission(patterns: patterns.compactMap { MethodPattern($0) }, accounts: [], among: table).methods
  }

  @Test func methodPattern_matchesAMethodANamespaceOrAll() {
    #expect(Self.methods("token.get") == ["token.get"])
    #expect(Self.methods("token.*") == ["token.get", "token.refresh"])
    #expect(Self.methods("token.get", "account.*") == ["token.get", "account.list"])
    #expect(Self.methods("nobody.*", "token.Get") == [])
  }

  @Test func wildcardPattern_excludesMethodsThatMustBeNamed() {
    #expect(
      Self.methods("*") == ["token.get", "token.refresh", "tokens.get", "account.list", "agent.status", "provider.get"])
    #expect(Self.methods("agent.*") == ["agent.status", "agent.shutdown"])
    #expect(Self.methods("*", "provider.remove").contains("provider.remove"))
  }

  @Test(arguments: [
    "", ".", "*.", ".*", "*.*", "*.get", "token.", ".get", "to*", "token.g*t", "token", "a.b.c", "a..b",
  ])
  func malformedMethodPattern_isRefused(text: String) { #expect(MethodPattern(text) == nil) }

  /// Swift's `==` takes the sign of Kelvin for a K; a server does not.
  @Test func nameThatIsEquivalentToACoveredOne_isNotCovered() throws {
    let (covered, other) = ("K\u{E9}", "\u{212A}e\u{301}")
    #expect(covered == other)
    func permission(_ name: String) -> Permission {
      Permission(methods: [], accounts: [], scopes: [name], resources: [name], detailTypes: [name], origins: [name])
    }
    func details(_ type: String) throws -> AuthorizationDetails {
      try AuthorizationDetails(parsing: #"[{"type":"\#(type)"}]"#, atMost: 4_096)
    }
    let own = permission(covered)
    #expect(own.token(TokenKey(resource: covered, scopes: ScopeSet([covered]))) != nil)
    #expect(own.token(TokenKey(resource: other, scopes: ScopeSet([covered]))) == nil)
    #expect(own.token(TokenKey(resource: covered, scopes: ScopeSet([other]))) == nil)
    #expect(try own.tokenLimit.covers(details(covered)))
    #expect(try !own.tokenLimit.covers(details(other)))
    #expect(own.covers(origin: covered) && !own.covers(origin: other))
    #expect(own.isWithin(permission(covered)) && !own.isWithin(permission(other)))
    #expect(own.narrowed(by: permission(other)).origins == [])
    #expect(!ScopeSet([other]).isWithin([covered]))
  }

  @Test func originsAndAgent_limitRequests() {
    let permission = Permission(methods: [], accounts: [], origins: ["https://a.test"], isForAgent: true)
    for method in ["GET", "HEAD"] { #expect(permission.coversUnnamed(method, hasBody: false)) }
    #expect(!permission.coversUnnamed("GET", hasBody: true))
    #expect(permission.covers(origin: "https://a.test"))
    #expect(!permission.covers(origin: "https://a.test:8443"))
    for method in ["POST", "OPTIONS", "DELETE", "get"] { #expect(!permission.coversUnnamed(method, hasBody: false)) }
    #expect(Permission(methods: [], accounts: []).coversUnnamed("POST", hasBody: true))
    #expect(Permission(methods: [], accounts: []).covers(origin: "https://b.test"))
    #expect(!Permission(methods: [], accounts: [], origins: []).covers(origin: "https://a.test"))
  }

  // MARK: properties

  /// Few methods and accounts, so that two permissions often overlap.
  private static func any(_ random: inout some RandomNumberGenerator) -> Permission {
    let names = (0..<6).map { "m.\(Character(Unicode.Scalar(UInt8(97 + $0))))" }.filter { _ in
      Bool.random(using: &random)
    }
    let accounts = accounts.filter { _ in Bool.random(using: &random) }
    func some(_ words: [String]) -> Set<String>? {
      Bool.random(using: &random) ? nil : Set(words.filter { _ in Bool.random(using: &random) })
    }
    return Permission(
      methods: Set(names), accounts: Set(accounts), scopes: some(["mail", "files", "openid"]),
      resources: some(["https://a.test", "https://b.test"]), detailTypes: some(["payment", "account"]),
      origins: some(["https://a.test", "https://b.test"]),
      passOrigins: PassedOrigins(
        ["https://a.test", "http://10.0.0.1", "*"].filter { _ in Bool.random(using: &random) }),
      capabilities: Set(["note", "sign"].filter { _ in Bool.random(using: &random) }),
      isForAgent: Bool.random(using: &random))
  }

  private static let accounts = (0..<5).map { AccountID(bytes: Array(repeating: UInt8($0), count: 16))! }

  @Test func narrowedPermission_isWithinBothPermissions() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<2_000 {
      let (a, b) = (Self.any(&random), Self.any(&random))
      let both = a.narrowed(by: b)
      #expect(both.isWithin(a) && both.isWithin(b))
      #expect(both == b.narrowed(by: a))
      #expect(both.narrowed(by: a) == both)
      // The result covers what both cover.
      #expect(both.methods == a.methods.filter { b.methods.contains($0) })
      #expect(both.accounts == a.accounts.filter { b.accounts.contains($0) })
      for scope in ["mail", "files", "openid"] {
        func has(_ limit: Set<String>?) -> Bool { limit?.contains(scope) ?? true }
        #expect(has(both.scopes) == (has(a.scopes) && has(b.scopes)))
      }
    }
  }

  @Test func tokenOfANarrowedPermission_isCoveredByBoth() {
    var random = SystemRandomNumberGenerator()
    let resources = [nil, "https://a.test", "https://b.test", "https://c.test"]
    let scopes = [nil, ScopeSet(["mail"]), ScopeSet(["mail", "openid"]), ScopeSet(["root"])]
    for _ in 0..<2_000 {
      let (a, b) = (Self.any(&random), Self.any(&random))
      let wanted = TokenKey(resource: resources.randomElement()!, scopes: scopes.randomElement()!)
      guard let key = a.narrowed(by: b).token(wanted) else { continue }
      #expect(a.token(key) == key && b.token(key) == key)
      #expect(wanted.resource == nil || key.resource == wanted.resource)
    }
  }

  @Test func permissionWithoutLimits_coversEveryToken() {
    let wanted = TokenKey(resource: "https://a.test", scopes: ScopeSet(["mail"]))
    #expect(Permission(methods: [], accounts: []).token(wanted) == wanted)
    #expect(Permission(methods: [], accounts: []).token(.standard) == .standard)
  }

  @Test func exchangeForAuthorizationDetails_isCoveredOnlyWithoutLimits() throws {
    let details = try AuthorizationDetails(parsing: #"[{"type":"payment_initiation"}]"#, atMost: 4096)
    let wanted = DerivedTokenKey(resource: "https://a.test", scopes: ScopeSet(["mail"]), details: details)
    func covered(_ scopes: Set<String>?, _ resources: Set<String>?) -> DerivedTokenKey? {
      Permission(methods: [], accounts: [], scopes: scopes, resources: resources)
        .derived(wanted, granted: ScopeSet(["mail"]))
    }
    #expect(covered(nil, nil) == wanted)
    #expect(covered(["mail"], nil) == nil)
    #expect(covered(nil, ["https://a.test"]) == nil)
  }

  @Test func idToken_takesOpenidAndNoResource() {
    func covers(_ scopes: Set<String>?, _ resources: Set<String>? = nil) -> Bool {
      Permission(methods: [], accounts: [], scopes: scopes, resources: resources).coversIDToken
    }
    #expect(covers(nil))
    #expect(covers(["openid", "mail"]))
    #expect(!covers(["mail"]))
    #expect(!covers([]))
    #expect(!covers(nil, ["https://files.test"]))
    #expect(!covers(["openid"], []))
  }

  @Test func missingResource_isTheOnlyOneOfThePermission() {
    let one = Permission(methods: [], accounts: [], resources: ["https://a.test"])
    #expect(one.token(.standard) == TokenKey(resource: "https://a.test"))
    #expect(one.token(TokenKey(resource: "https://a.test/")) == nil)
    let two = Permission(methods: [], accounts: [], resources: ["https://a.test", "https://b.test"])
    #expect(two.token(.standard) == nil)
    #expect(two.token(TokenKey(resource: "https://b.test")) != nil)
    #expect(Permission(methods: [], accounts: [], resources: []).token(.standard) == nil)
  }

  @Test func scopeBeyondThePermission_isNotCovered() {
    let mail = Permission(methods: [], accounts: [], scopes: ["mail"])
    #expect(mail.token(TokenKey(scopes: ScopeSet(["mail"]))) != nil)
    #expect(mail.token(TokenKey(scopes: ScopeSet(["mail", "files"]))) == nil)
    #expect(mail.token(.standard) == .standard)
    #expect(Permission(methods: [], accounts: [], scopes: []).token(.standard) == nil)
  }

  @Test func repeatedlyNarrowedPermission_onlyShrinks() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      let first = Self.any(&random)
      var now = first
      for _ in 0..<6 {
        let before = now
        now = now.narrowed(by: Self.any(&random))
        #expect(now.isWithin(before) && now.isWithin(first))
      }
    }
  }

  @Test func isWithin_isAPartialOrder() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<2_000 {
      let (a, b, c) = (Self.any(&random), Self.any(&random), Self.any(&random))
      #expect(a.isWithin(a))
      if a.isWithin(b), b.isWithin(a) { #expect(a == b) }
      if a.isWithin(b), b.isWithin(c) { #expect(a.isWithin(c)) }
      #expect(a.isWithin(b) == (a.narrowed(by: b) == a))
    }
  }
}
