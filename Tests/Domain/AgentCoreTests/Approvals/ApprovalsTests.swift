import AgentCore
import AgentModel
import Testing

/// All requests that wait, and what verdicts leave behind.
@Suite struct ApprovalsTests {
  private static let work = AccountID(bytes: [UInt8](repeating: 1, count: 16))!
  private static let home = AccountID(bytes: [UInt8](repeating: 2, count: 16))!
  private static let wall = Timestamp(milliseconds: 1_000_000)

  private static func moment(_ seconds: Int64) -> BootInstant { BootInstant(milliseconds: seconds * 1_000) }

  private static func wish(
    _ url: String = "https://api.test/tickets", grant: String = "grt_1", account: AccountID = work,
    method: String = "POST", capabilities: [String] = ["comment"]
  ) -> Approvals.Wish {
    let url = HTTPURL(url)!
    return Approvals.Wish(
      request: Approvals.Request(grant: grant, account: account, method: method, url: url), client: "claude",
      capabilities: capabilities, url: url, stepUp: nil, wait: .seconds(60))
  }

  private static func begin(
    _ approvals: inout Approvals, _ wish: Approvals.Wish, _ id: String = "a", by asker: UInt64 = 1,
    at seconds: Int64 = 0
  ) -> Approvals.Answer {
    approvals.begin(wish, id: id, by: asker, at: moment(seconds), wall: wall, grantEndsAt: nil)
  }

  private static func decide(
    _ approvals: inout Approvals, _ verdict: ApprovalMachine.Verdict, of id: String = "a", at seconds: Int64 = 1
  ) -> [Approvals.Effect] {
    guard approvals.decided(id, verdict, by: .call) != nil else { return [] }
    return approvals.recorded(id, at: moment(seconds))
  }

  @Test func sameRequest_waitsOnce_andAllItsCallersGetTheVerdict() {
    var approvals = Approvals()
    #expect(Self.begin(&approvals, Self.wish()) == .isNew)
    #expect(approvals.asks(Self.wish(), by: 2, at: Self.moment(1)) == .joins("a"))
    #expect(approvals.waiting.count == 1)
    let told = Self.decide(&approvals, .once).compactMap { effect -> UInt64? in
      if case .answer(let asker, .decided(.once, .call)) = effect { asker } else { nil }
    }
    #expect(told == [1, 2])
    #expect(approvals.asks(Self.wish(), by: 3, at: Self.moment(2)) == .isNew, "the next one is asked about anew")
  }

  @Test func otherGrantAccountMethodOrURL_isAnotherRequest() {
    var approvals = Approvals()
    _ = Self.begin(&approvals, Self.wish())
    for other in [
      Self.wish(grant: "grt_2"), Self.wish(account: Self.home), Self.wish(method: "PUT"),
      Self.wish("https://api.test/tickets?x=1"),
    ] {
      #expect(approvals.asks(other, by: 2, at: Self.moment(1)) == .isNew)
    }
    #expect(approvals.asks(Self.wish("HTTPS://API.test:443/tickets"), by: 2, at: Self.moment(1)) == .joins("a"))
    #expect(approvals.asks(Self.wish("https://api.test/./%74ickets"), by: 3, at: Self.moment(1)) == .joins("a"))
  }

  @Test func sessionVerdict_isAboutTheCapabilityThatThePersonSees() {
    var approvals = Approvals()
    _ = Self.begin(&approvals, Self.wish(capabilities: ["comment", "everything"]))
    #expect(!Self.decide(&approvals, .session).isEmpty)
    #expect(approvals.isAllowed("comment", of: Self.work, for: "grt_1"))
    #expect(!approvals.isAllowed("everything", of: Self.work, for: "grt_1"))
  }

  @Test func sessionVerdict_allowsTheCapabilityForThisGrantAndAccount_untilTheGrantEnds() {
    var approvals = Approvals()
    _ = Self.begin(&approvals, Self.wish())
    _ = Self.decide(&approvals, .session)
    let other = "https://api.test/tickets/17"
    #expect(approvals.asks(Self.wish(other), by: 2, at: Self.moment(2)) == .allowed)
    #expect(approvals.asks(Self.wish(other, grant: "grt_2"), by: 2, at: Self.moment(2)) == .isNew)
    #expect(approvals.asks(Self.wish(other, account: Self.home), by: 2, at: Self.moment(2)) == .isNew)
    #expect(approvals.asks(Self.wish(other, capabilities: ["delete"]), by: 2, at: Self.moment(2)) == .isNew)
    #expect(approvals.asks(Self.wish(other, capabilities: ["comment", "delete"]), by: 2, at: Self.moment(2)) == .isNew)
    _ = approvals.grantsEnded(["grt_1"], at: Self.moment(3))
    #expect(!approvals.isAllowed("comment", of: Self.work, for: "grt_1"))
    #expect(approvals.grants.isEmpty)
  }

  @Test func sessionVerdict_endsTheWaitOfAllRequestsThatItAllows_andOfNoOther() {
    var approvals = Approvals()
    let waiting = [
      "a": Self.wish(), "same": Self.wish("https://api.test/tickets/17"),
      "both": Self.wish("https://api.test/tickets/18", capabilities: ["comment", "everything"]),
      "other": Self.wish("https://api.test/x", capabilities: ["delete"]),
      "grant": Self.wish(grant: "grt_2"), "account": Self.wish(account: Self.home),
    ]
    for (asker, (id, wish)) in waiting.sorted(by: { $0.key < $1.key }).enumerated() {
      #expect(Self.begin(&approvals, wish, id, by: UInt64(asker)) == .isNew)
    }
    #expect(Self.ended(Self.decide(&approvals, .session)) == ["a", "same"])
    #expect(Set(approvals.waiting.map(\.id)) == ["both", "other", "grant", "account"])
    _ = Self.begin(&approvals, Self.wish("https://api.test/y", capabilities: ["everything"]), "y", by: 20)
    #expect(Self.ended(Self.decide(&approvals, .session, of: "y")) == ["y", "both"], "all that it lacked is allowed")
  }

  /// A verdict of its own counts; one that is not written down is none.
  @Test func sessionVerdict_whileAnotherVerdictIsWritten_countsIfThatOneFails() {
    for isWritten in [true, false] {
      var approvals = Approvals()
      _ = Self.begin(&approvals, Self.wish())
      _ = Self.begin(&approvals, Self.wish("https://api.test/tickets/17"), "b", by: 2)
      #expect(approvals.decided("b", .deny, by: .call) != nil)
      #expect(Self.ended(Self.decide(&approvals, .session)) == ["a"])
      let now = Self.moment(2)
      let effects = isWritten ? approvals.recorded("b", at: now) : approvals.notRecorded("b", at: now)
      #expect(effects.first == .answer(2, .decided(isWritten ? .deny : .session, .call)))
    }
  }

  /// Whose end is told.
  private static func ended(_ effects: [Approvals.Effect]) -> [String] {
    effects.compactMap { if case .tell(let entry, .decided(.session, .call)) = $0 { entry.id } else { nil } }
  }

  @Test func declinedRequest_isNotAskedAboutForAMinute() {
    var approvals = Approvals()
    _ = Self.begin(&approvals, Self.wish())
    _ = Self.decide(&approvals, .deny, at: 1)
    #expect(approvals.asks(Self.wish(), by: 2, at: Self.moment(31)) == .refused(left: .seconds(30)))
    #expect(Self.begin(&approvals, Self.wish(), "b", by: 2, at: 31) == .refused(left: .seconds(30)))
    #expect(approvals.asks(Self.wish("https://api.test/other"), by: 2, at: Self.moment(31)) == .isNew)
    #expect(approvals.asks(Self.wish(), by: 2, at: Self.moment(61)) == .isNew)
  }

  @Test func declinedRequest_isDeclinedWithEachAccountOfTheGrant_forAMinute() {
    var approvals = Approvals()
    _ = Self.begin(&approvals, Self.wish())
    _ = Self.decide(&approvals, .deny, at: 1)
    let other = Self.wish(account: Self.home)
    #expect(approvals.asks(other, by: 2, at: Self.moment(31)) == .refused(left: .seconds(30)))
    #expect(Self.begin(&approvals, other, "b", by: 2, at: 31) == .refused(left: .seconds(30)))
    #expect(approvals.asks(Self.wish(grant: "grt_2", account: Self.home), by: 2, at: Self.moment(31)) == .isNew)
    #expect(approvals.asks(other, by: 2, at: Self.moment(61)) == .isNew)
  }

  @Test func approvedRequest_isAskedAboutWithAnotherAccount() {
    for verdict in [ApprovalMachine.Verdict.once, .session] {
      var approvals = Approvals()
      _ = Self.begin(&approvals, Self.wish())
      _ = Self.decide(&approvals, verdict)
      #expect(approvals.asks(Self.wish(account: Self.home), by: 2, at: Self.moment(2)) == .isNew)
    }
  }

  @Test("A declined URL that is spelled in another way is the declined one (RFC 3986 §6.2.2)")
  func declinedURL_inAnotherSpelling_isNotAskedAbout() {
    var approvals = Approvals()
    _ = Self.begin(&approvals, Self.wish("https://api.test/w/x~1%2f?q=%c3%a9&a=b"))
    _ = Self.decide(&approvals, .deny)
    for same in ["/w/%78~1%2F?q=%C3%A9&a=b", "/%77/x%7E1%2f?%71=%c3%a9&a=b", "/w/./x~1%2f?q=%c3%A9&a=%62"] {
      let again = approvals.asks(Self.wish("https://api.test" + same), by: 2, at: Self.moment(31))
      #expect(again == .refused(left: .seconds(30)))
    }
    // What a reserved character and its escape mean differs.
    for other in ["/w/x~1/?q=%c3%a9&a=b", "/w/x~1%2f?q=%c3%a9%26a=b", "/w/x~1%252f?q=%c3%a9&a=b"] {
      #expect(approvals.asks(Self.wish("https://api.test" + other), by: 2, at: Self.moment(31)) == .isNew)
    }
  }

  @Test func requestThatNobodyDecidedAbout_isAskedAboutAgainAtOnce() {
    var approvals = Approvals()
    _ = Self.begin(&approvals, Self.wish())
    #expect(approvals.nextMoment == Self.moment(60))
    #expect(approvals.passed(to: Self.moment(60)).contains(.answer(1, .timedOut)))
    #expect(approvals.asks(Self.wish(), by: 2, at: Self.moment(60)) == .isNew)
  }

  @Test func bounds_are64Requests_and64CallersOfEach() {
    var approvals = Approvals()
    for number in 0..<Approvals.most {
      #expect(
        Self.begin(&approvals, Self.wish("https://api.test/\(number)"), "a\(number)", by: UInt64(number)) == .isNew)
    }
    #expect(Self.begin(&approvals, Self.wish(), "more", by: 1_000) == .full)
    for number in 1..<Approvals.mostAskers {
      #expect(
        approvals.asks(Self.wish("https://api.test/0"), by: UInt64(2_000 + number), at: Self.moment(1)) == .joins("a0"))
    }
    #expect(approvals.asks(Self.wish("https://api.test/0"), by: 3_000, at: Self.moment(1)) == .full)
    _ = Self.decide(&approvals, .once, of: "a1")
    #expect(Self.begin(&approvals, Self.wish(), "more", by: 1_000) == .isNew)
  }

  @Test func requestThatIsDecidedNow_isNotListed_andTakesNoSecondVerdict() {
    var approvals = Approvals()
    _ = Self.begin(&approvals, Self.wish())
    #expect(approvals.decided("a", .once, by: .call)?.count == 1)
    #expect(approvals.waiting.isEmpty)
    #expect(approvals.decided("a", .deny, by: .pinentry) == nil)
    #expect(approvals.decided("b", .deny, by: .call) == nil)
    #expect(approvals.notRecorded("a", at: Self.moment(1)) == [])
    #expect(approvals.waiting.count == 1)
  }

  @Test func shownURL_hasTheNamesOfItsQueryAlone() {
    let urls = [
      "https://api.test/a": "https://api.test/a", "https://api.test/a?": "https://api.test/a?",
      "https://api.test/a?q=secret&page=2&flag": "https://api.test/a?q&page&flag",
      "https://api.test/a?x=1=2&&y": "https://api.test/a?x&&y",
    ]
    for (url, shown) in urls { #expect(Self.wish(url).shownURL == shown) }
  }
}
