import AgentCore
import AgentModel
import Testing

@Suite("Which capabilities name a request")
struct RequestNamingTests {
  private func pattern(_ text: String) -> RequestRule.Pattern? {
    try? RequestRule.Pattern(text, at: "https://api.test")
  }

  private func path(_ url: String) throws -> RequestPath { try RequestPath(#require(HTTPURL(url))) }

  private func policy(_ rules: [String: [RequestRule]]) -> PolicyEngine.Policy {
    var capabilities: [String: Capability] = [:]
    for (name, requests) in rules {
      var capability = Capability(kind: .write)
      capability.requests = requests
      capabilities[name] = capability
    }
    return .document(PolicyDocument(name: "p", version: 1, capabilities: capabilities))
  }

  private func rule(_ path: String, _ methods: Set<String> = ["GET"]) throws -> RequestRule {
    RequestRule(origin: "https://api.test", methods: methods, path: try #require(pattern(path)))
  }

  private func names(
    _ method: String, _ url: String, _ policy: PolicyEngine.Policy, isForAgent: Bool = false
  ) throws -> RequestNaming {
    try RequestNaming(of: method, #require(HTTPURL(url)), isForAgent: isForAgent, under: policy)
  }

  // MARK: paths

  @Test(arguments: [
    "https://api.test/a/../b", "https://api.test/a/%2e%2e/b", "https://api.test/a/.%2E/b", "HTTPS://API.TEST:443/b",
    "https://api.test/./b/", "https://api.test/b?path=/c", "https://api.test/%62",
  ])
  func spellingsOfOnePath_areTheSame(url: String) throws {
    #expect(try path(url) == path("https://api.test/b"))
  }

  @Test(arguments: [
    "/a%2Fb", "/a%2fb", "/a%5Cb", "/a%252Fb", "/a%252fb", "/a%255Cb", "/a%25252Fb", "//a", "/a//b", "/a;x=1/b",
    "/a%3Bx", "/..;/a", "/a%00", "/a%0d%0ab", "/a%7F", "/a%ff", "/a%c0%af", "/a%ef%bc%8fb", "/a%ef%bc%bcb",
    "/%ef%bc%8e%ef%bc%8e/b", "/a%e2%88%95b", "/%2e%252e/b", "/a%25%32%46b",
    "/a%cd%bex=1/b", "/a%ef%b8%94b", "/a%e2%84%80b", "/a%e2%84%85b", "/%e2%80%a5/b", "/a%ef%b9%96b", "/a%ef%bc%83b",
    "/a%ef%b9%9fb", "/a%c2%bdb", "/a%e2%92%88b", "/a%f0%9f%84%80b", "/a%c2%a5b",
  ])
  func pathThatServersReadInTwoWays_isRefused(path: String) throws {
    let url = try #require(HTTPURL("https://api.test" + path))
    #expect(throws: RequestPath.Refusal.self) { try RequestPath(url) }
  }

  @Test(arguments: [
    "/caf%C3%A9", "/caf%65%CC%81", "/%E6%97%A5%E6%9C%AC", "/%E2%80%93", "/%E2%82%AC", "/100%25", "/a%20b", "/a:b,c",
    "/~me/x.y", "/",
  ])
  func ordinaryPath_isTaken(path: String) throws {
    #expect(throws: Never.self) { try RequestPath(#require(HTTPURL("https://api.test" + path))) }
  }

  // MARK: patterns

  @Test(arguments: [
    "", "a", "a*", "*", "/a*b", "/a*/b", "/*a/b", "/**/b", "/a/**", "/*/**", "/a%2a", "/%2A/b", "/*?b", "/*/..*",
    "/a?b", "/a#b", "/a%2Fb", "/a%5C*", "/a\\b", "/a%252F*", "//a*",
    "/a;b*", "/..*", "/a/..*", "/a/%2e*", "/é", "/a%2",
  ])
  func badPattern_isRefused(text: String) { #expect(pattern(text) == nil) }

  @Test(arguments: [
    ("/items", "/items", true), ("/items", "/items/", true), ("/items", "/items/1", false), ("/items", "/ITEMS", false),
    ("/items/*", "/items", false), ("/items/*", "/items/", false), ("/items/*", "/items/1/2", true),
    ("/items/*", "/items-evil/1", false),
    ("/item*", "/items/1", true), ("/item*", "/ite", false), ("/*", "/", true), ("/*", "/a/b", true),
    ("/a/../b", "/b", true), ("/v1/x*", "/v1", false), ("/v1/x*", "/v1/%78y", true), ("/%62*", "/b", true),
    // A `*` that is a segment stands for one, whatever it is; at the end it is a beginning, unless a slash follows it.
    ("/a/*/b", "/a/x/b", true), ("/a/*/b", "/a/x/b/", true), ("/a/*/b", "/a/b", false), ("/a/*/b", "/a/x/y/b", false),
    ("/a/*/b", "/a/x/b/c", false), ("/a/*/b", "/a/%2A/b", true), ("/*/b", "/a/b", true), ("/*/b", "/b", false),
    ("/*/*/c", "/a/b/c", true), ("/*/*/c", "/a/c", false), ("/a/*/b*", "/a/x/bc", true), ("/a/*/b*", "/a/x/c", false),
    ("/a/*/b/*", "/a/x/b", false), ("/a/*/b/*", "/a/x/b/c/d", true), ("/a/*/b/*", "/a/x", false),
    ("/a/*/", "/a/x", true), ("/a/*/", "/a/x/", true), ("/a/*/", "/a", false), ("/a/*/", "/a/x/y", false),
    ("/*/", "/a", true), ("/*/", "/", false), ("/a/*/../b", "/a/b", true), ("/a/*/*", "/a/x", false),
    ("/a/*/*", "/a/x/y", true), ("/a/*/*", "/a", false),
  ])
  func pattern_covers(text: String, covered: String, expected: Bool) throws {
    #expect(try #require(pattern(text)).covers(path("https://api.test" + covered)) == expected)
  }

  /// Many servers take `/items` and `/items/` for one.
  @Test(arguments: [
    ("/items/*", "/items", true), ("/items/*", "/items/", true), ("/items/*", "/items/1", true),
    ("/items/*", "/items-evil", false), ("/items/*", "/", false), ("/item*", "/ite", false), ("/items", "/items", true),
    ("/a/*/b/*", "/a/x/b", true), ("/a/*/*", "/a/x", true), ("/a/*/*", "/a", false), ("/a/*/", "/a", false),
    ("/*", "/", true),
  ])
  func patternOfWhatIsBelowAPath_restrictsThePathAsWell(text: String, path: String, expected: Bool) throws {
    #expect(try #require(pattern(text)).restricts(self.path("https://api.test" + path)) == expected)
  }

  // MARK: naming

  @Test func everyCapabilityThatNamesTheRequest_isFound_theClosestFirst() throws {
    let policy = policy([
      "all": [try rule("/*")], "exact": [try rule("/a/b")], "below": [try rule("/a/*"), try rule("/a/b*")],
      "other": [try rule("/a/c")], "write": [try rule("/a/b", ["POST"])],
    ])
    #expect(try names("GET", "https://api.test/a/b", policy) == .capabilities(["exact", "below", "all"]))
    #expect(try names("POST", "https://api.test/a/b", policy) == .capabilities(["write"]))
    #expect(try names("get", "https://api.test/a/b", policy) == .none)
  }

  /// More segments, then fewer `*`, then one path more than many.
  @Test func capabilityWithFewerStars_isCloser() throws {
    let policy = policy([
      "any": [try rule("/a/*/c")], "named": [try rule("/a/b/c")], "one": [try rule("/a/b/*/")],
      "below": [try rule("/a/b/*")], "anyBelow": [try rule("/a/*/*")], "all": [try rule("/*")],
    ])
    #expect(
      try names("GET", "https://api.test/a/b/c", policy)
        == .capabilities(["named", "any", "one", "below", "anyBelow", "all"]))
    #expect(try names("GET", "https://api.test/a/x/c", policy) == .capabilities(["any", "anyBelow", "all"]))
  }

  @Test func webSocket_isDecidedByRulesAboutItAndAboutItsHandshake() throws {
    let policy = policy([
      "read": [try rule("/*", ["GET", "HEAD"])], "chat": [try rule("/chat/*", ["WEBSOCKET"])],
      "write": [try rule("/*", ["POST"])],
    ])
    #expect(try names("WEBSOCKET", "https://api.test/chat/1", policy) == .capabilities(["chat", "read"]))
    #expect(try names("WEBSOCKET", "https://api.test/pods", policy) == .capabilities(["read"]))
    #expect(try names("GET", "https://api.test/chat/1", policy) == .capabilities(["read"]))
  }

  @Test func ruleAboutGETAlone_givesAnAIAgentNoWebSocket() throws {
    let policy = policy(["read": [try rule("/*", ["GET"])], "chat": [try rule("/chat/*", ["WEBSOCKET"])]])
    #expect(try names("WEBSOCKET", "https://api.test/pods", policy, isForAgent: true) == .none)
    #expect(
      try names("WEBSOCKET", "https://api.test/chat/1", policy, isForAgent: true) == .capabilities(["chat", "read"]))
    #expect(try names("GET", "https://api.test/pods", policy, isForAgent: true) == .capabilities(["read"]))
  }

  /// `POST /tickets/*` lets an AI agent comment on a ticket, and not make one.
  @Test func ruleAboutWhatIsBelowAPath_restrictsAnAIAgentAtThePath_andPermitsItNothingThere() throws {
    let policy = policy([
      "comment": [try rule("/tickets/*", ["POST"])], "create": [try rule("/notes", ["POST"])],
      "notes": [try rule("/notes/*", ["POST"])], "all": [try rule("/*", ["PUT"])],
      "chat": [try rule("/chat/*", ["WEBSOCKET"])], "join": [try rule("/chat", ["GET"])],
    ])
    func names(_ method: String, _ path: String, isForAgent: Bool = true) throws -> RequestNaming {
      try self.names(method, "https://api.test" + path, policy, isForAgent: isForAgent)
    }
    for path in ["/tickets", "/tickets/", "/x/../%74ickets?a=b"] {
      #expect(try names("POST", path) == .restricting(["comment"]))
      #expect(try names("POST", path, isForAgent: false) == .capabilities(["comment"]))
    }
    #expect(try names("POST", "/tickets/7") == .capabilities(["comment"]))
    #expect(try names("POST", "/notes") == .capabilities(["create", "notes"]))
    #expect(try names("PUT", "/") == .capabilities(["all"]))
    #expect(try names("WEBSOCKET", "/chat") == .restricting(["join", "chat"]))
  }

  @Test func otherOrigin_isNotNamed_andItsPathNotJudged() throws {
    let policy = policy(["all": [try rule("/*")]])
    for url in ["https://api.test:8443/a", "https://other.test/a%2Fb", "http://127.0.0.1/a"] {
      #expect(try names("GET", url, policy) == .none)
    }
    #expect(throws: RequestPath.Refusal.self) { try names("GET", "https://api.test/a%2Fb", policy) }
  }

  @Test func unreadablePolicy_namesEverything() throws {
    #expect(try names("GET", "https://api.test/a", .unreadable(name: "p")) == .unreadable)
    #expect(PolicyEngine.Policy.unreadable(name: "p").mayName("https://api.test"))
    #expect(try names("GET", "https://api.test/a", .none) == .none)
  }
}
