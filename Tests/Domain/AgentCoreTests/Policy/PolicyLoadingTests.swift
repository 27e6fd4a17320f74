import AgentCore
import AgentModel
import Testing

/// A policy document is loaded whole, or refused with every problem in it.
@Suite struct PolicyLoadingTests {
  @Test func examplePolicy_isParsed() {
    let document = PolicyStories.fieldService
    #expect(document.name == "field-service" && document.version == 1)
    #expect(document.longestOfflineWindow(in: .active) == .days(7) && document.longestStepUpAge == .hours(12))
    let note = document.capabilities["workOrder.note"]
    #expect(note?.offlineWindow == .days(2) && note?.stepUp?.maxAge == .hours(12) && note?.onClockSuspect == .shrink)
    let complete = document.capabilities["workOrder.complete"]
    #expect(complete?.token == .fresh && complete?.onlineWithin == .seconds(300) && complete?.forbids.count == 1)
    #expect(complete?.sensitivity == .confidential && complete?.onReauthentication == .deny)
  }

  @Test func capabilitySetting_overridesItsTierAndTheDocument() throws {
    let document = try PolicyDocument(
      parsing: Array(
        """
        {"name":"p","version":2,"onReauthentication":"readOnly",
         "tiers":{"t":{"offlineWindowSeconds":10,"requires":{"rolesAny":["a"],"scopesAll":["s"]},"obligations":["o"],
                       "onReauthentication":"deny"}},
         "capabilities":{"own":{"kind":"read","tier":"t","offlineWindowSeconds":0,"requires":{"rolesAny":["b"]},
                                "obligations":["p"],"onReauthentication":"readOnly"},
                         "tier":{"kind":"read","tier":"t"},"bare":{"kind":"write"}}}
        """.utf8))
    let (own, tier, bare) = (
      document.capabilities["own"]!, document.capabilities["tier"]!, document.capabilities["bare"]!
    )
    #expect(own.offlineWindow == nil && own.requires == .init(rolesAny: ["b"], scopesAll: ["s"]))
    #expect(own.obligations == ["p"] && own.onReauthentication == .readOnly)
    #expect(tier.offlineWindow == .seconds(10) && tier.obligations == ["o"] && tier.onReauthentication == .deny)
    #expect(bare.offlineWindow == nil && bare.onReauthentication == .readOnly && bare.requires == .init())
  }

  @Test func approve_isACondition_ofACapabilityOrItsTier() throws {
    let document = try PolicyDocument(
      parsing: Array(
        """
        {"name":"p","version":1,"tiers":{"asked":{"approve":{"waitSeconds":300}}},
         "capabilities":{"tier":{"kind":"read","tier":"asked"},
                         "own":{"kind":"read","tier":"asked","approve":{"waitSeconds":1}},"none":{"kind":"read"}}}
        """.utf8))
    #expect(
      document.capabilities.mapValues(\.approvalWait) == ["tier": .seconds(300), "own": .seconds(1), "none": nil])
    #expect(document.capabilities["tier"]?.auditRule == .durable, "a verdict and what follows it is on the disk")
    let problems = PolicyStories.problems(
      """
      {"name":"p","version":1,"capabilities":{
        "a":{"kind":"read","approve":{}},"b":{"kind":"read","approve":{"waitSeconds":0}},
        "c":{"kind":"read","approve":{"waitSeconds":301}},"d":{"kind":"read","approve":{"waitSeconds":1,"by":"me"}},
        "e":{"kind":"read","approve":300}}}
      """)
    #expect(
      Set(problems.map(\.pointer)) == [
        "/capabilities/a/approve", "/capabilities/b/approve/waitSeconds", "/capabilities/c/approve/waitSeconds",
        "/capabilities/d/approve/by", "/capabilities/e/approve",
      ])
  }

  @Test func everyProblem_isReportedWithItsPointer() {
    let problems = PolicyStories.problems(
      """
      {"name":"two words","version":0,"color":"red","description":7,
       "tiers":{"a":{"offlineWindowSeconds":-1,"window":3},"b/c":{}},
       "capabilities":{"x":{"kind":"execute","tier":"z"},"y":{"stepUp":{"method":"sms"}},
                       "q~":{"kind":"read"},"w":{"kind":"read","requires":{"rolesAny":[],"scopesAll":["a b"]},
                       "token":true}},
       "forbids":[{"capabilities":["x","nobody"]},{"whenRole":""}],"onClockSuspect":"hope"}
      """)
    #expect(
      problems.map(\.pointer) == [
        "/color", "/name", "/version", "/description", "/tiers/a/window", "/tiers/a/offlineWindowSeconds",
        "/tiers/b~1c",
        "/onClockSuspect", "/capabilities/x/kind", "/capabilities/x/tier", "/capabilities/y",
        "/capabilities/y/stepUp", "/capabilities/y/stepUp/method", "/capabilities/q~0",
        "/capabilities/w/requires/rolesAny", "/capabilities/w/requires/scopesAll/0", "/capabilities/w/token",
        "/forbids/0/capabilities/1", "/forbids/1", "/forbids/1/whenRole",
      ])
    #expect(problems.allSatisfy { !$0.text.isEmpty })
  }

  @Test(arguments: [
    ("", ""), ("[]", ""), ("7", ""), (#"{"name":"p","name":"q"}"#, ""), ("{}", ""), ("{\"name\":}", ""),
    (#"{"name":"p","version":1,"capabilities":[]}"#, "/capabilities"),
    (#"{"name":"p","version":1.5,"capabilities":{}}"#, "/version"),
    (#"{"name":"p","version":1,"capabilities":{},"forbids":{}}"#, "/forbids"),
    (
      #"{"name":"p","version":1,"capabilities":{"c":{"kind":"read","offlineWindowSeconds":"10"}}}"#,
      "/capabilities/c/offlineWindowSeconds"
    ),
    (
      #"{"name":"p","version":1,"capabilities":{"c":{"kind":"read","offlineWindowSeconds":315576001}}}"#,
      "/capabilities/c/offlineWindowSeconds"
    ),
    (
      #"{"name":"p","version":1,"capabilities":{"c":{"kind":"read","stepUp":{"method":"pin","maxAgeSeconds":0}}}}"#,
      "/capabilities/c/stepUp/maxAgeSeconds"
    ),
  ])
  func malformedPolicy_isReportedAtItsPointer(_ text: String, pointer: String) {
    #expect(PolicyStories.problems(text).first?.pointer == pointer)
  }

  @Test func problemList_isBounded() {
    let members = (0..<500).map { "\"m\($0)\":0" }.joined(separator: ",")
    do throws(PolicyProblems) {
      _ = try PolicyDocument(parsing: Array(#"{"name":"p","version":1,"capabilities":{},\#(members)}"#.utf8))
      Issue.record("taken")
    } catch {
      #expect(error.list.count == 100 && error.more == 400)
    }
  }

  /// A name as long as the document is not repeated: the problem points at its parent.
  @Test func pointerOfAVeryLongName_isCutToItsParent() {
    let name = String(repeating: "~", count: 900_000)
    let problems = PolicyStories.problems(
      #"{"name":"p","version":1,"\#(name)":0,"tiers":{"\#(name)":{}},"capabilities":{"c":{"kind":"read","\#(name)":1}}}"#
    )
    #expect(problems.map(\.pointer) == ["", "/tiers", "/capabilities/c"])
  }

  /// A line of 1 MiB with 100,000 unknown members: loading looks at each member a bounded number of times.
  @Test(arguments: [
    #"{"name":"p","version":1,"capabilities":{},@}"#, #"{"name":"p","version":1,"capabilities":{@}}"#,
    #"{"name":"p","version":1,"capabilities":{"c":{"kind":"read",@}}}"#,
    #"{"name":"p","version":1,"tiers":{"t":{"stepUp":{@},"requires":{@}}},"capabilities":{}}"#,
    #"{"name":"p","version":1,"forbids":[{@}],"capabilities":{}}"#,
  ])
  func hundredThousandUnknownMembers_areReportedInLinearTime(_ frame: String) {
    let strangers = (0..<100_000).map { "\"\($0)\":0" }.joined(separator: ",")
    let text = frame.replacing("@", with: strangers)
    var problems: [PolicyProblem] = []
    let took = ContinuousClock().measure { problems = PolicyStories.problems(text) }
    #expect(!problems.isEmpty && problems.count <= 100)
    // A quadratic look at them takes minutes.
    #expect(took < .seconds(20), "\(took)")
  }

  @Test func documentAtEveryBound_isAccepted() throws {
    let tiers = (0..<64).map { #""t\#($0)":{"offlineWindowSeconds":315576000}"# }
    let names = (0..<1024).map { "c\($0)" }
    let capabilities = names.map { #""\#($0)":{"kind":"read","tier":"t63"}"# }
    let forbid = #"{"whenRole":"x","capabilities":[\#(names.prefix(256).map { "\"\($0)\"" }.joined(separator: ","))]}"#
    func document(tiers: [String], capabilities: [String], forbids: Int) -> String {
      #"{"name":"p","version":9007199254740991,"tiers":{\#(tiers.joined(separator: ","))},"#
        + #""capabilities":{\#(capabilities.joined(separator: ","))},"#
        + #""forbids":[\#(Array(repeating: forbid, count: forbids).joined(separator: ","))]}"#
    }
    let whole = try PolicyDocument(
      parsing: Array(document(tiers: tiers, capabilities: capabilities, forbids: 256).utf8))
    #expect(whole.capabilities.count == 1024 && whole.capabilities["c255"]?.forbids.count == 256)
    #expect(whole.longestOfflineWindow(in: .active) == .seconds(315_576_000))
    func first(_ text: String) -> String? { PolicyStories.problems(text).first?.pointer }
    #expect(first(document(tiers: tiers + [#""u":{}"#], capabilities: capabilities, forbids: 0)) == "/tiers")
    #expect(
      first(document(tiers: tiers, capabilities: capabilities + [#""u":{"kind":"read"}"#], forbids: 0))
        == "/capabilities")
    #expect(first(document(tiers: tiers, capabilities: capabilities, forbids: 257)) == "/forbids")
  }

  @Test func roleLength_isCountedInCharacters() throws {
    let role = String(repeating: "ü", count: 256)
    func rule(_ role: String) -> String { #"{"kind":"read","requires":{"rolesAny":["\#(role)"]}}"# }
    #expect(try PolicyStories.document(rule(role)).capabilities["c"]?.requires.rolesAny == [role])
    #expect(throws: PolicyProblems.self) { try PolicyStories.document(rule(role + "ü")) }
  }

  @Test(arguments: [
    #"{"name":"p","version":1,"capabilities":{"c":{"kind":"read","kind":"write"}}}"#,
    #"{"name":"p","version":1,"capabilities":{"c":{"kind":"read"},"\u0063":{"kind":"write"}}}"#,
    #"{"name":"p","version":1,"capabilities":{"c":{"kind":"read","stepUp":{"method":"pin","method":"pin"}}}}"#,
  ])
  func duplicateMemberName_isRefusedAnywhere(_ text: String) {
    #expect(PolicyStories.problems(text).map(\.pointer) == [""])
  }

  @Test func policyNameThatDiffersFromTheExpectedOne_isAProblem() {
    do throws(PolicyProblems) {
      _ = try PolicyDocument(parsing: Array(#"{"name":"p","version":1,"capabilities":{}}"#.utf8), expectedName: "q")
      Issue.record("taken")
    } catch { #expect(error.list.map(\.pointer) == ["/name"]) }
  }
}
