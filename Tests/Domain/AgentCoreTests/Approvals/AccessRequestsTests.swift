import AgentCore
import AgentModel
import Testing

/// The requests of programs for more than their grants have.
@Suite struct AccessRequestsTests {
  private static func moment(_ seconds: Int64) -> BootInstant { BootInstant(milliseconds: seconds * 1_000) }

  private static func entry(
    _ id: String, grant: String = "grt_1", origin: String = "https://api.test", reason: String = "To write."
  ) -> AccessRequests.Entry {
    AccessRequests.Entry(
      id: id, grant: grant, client: "claude",
      addition: PermissionAddition(origins: [origin], methods: ["POST"], capabilities: []), reason: reason,
      requestedAt: Timestamp(milliseconds: 0))
  }

  @Test func sameRequest_waitsOnce() {
    var requests = AccessRequests()
    #expect(requests.ask(Self.entry("a"), at: Self.moment(0)) == .waits("a", isNew: true))
    #expect(requests.ask(Self.entry("b"), at: Self.moment(1)) == .waits("a", isNew: false))
    #expect(requests.ask(Self.entry("c", grant: "grt_2"), at: Self.moment(1)) == .waits("c", isNew: true))
    #expect(requests.entries.map(\.id) == ["a", "c"])
  }

  @Test func sixteenOfAGrantWait_andOfAnotherGrantAsMany() {
    var requests = AccessRequests()
    for number in 0..<AccessRequests.mostOfGrant {
      let entry = Self.entry("a\(number)", origin: "https://api\(number).test")
      #expect(requests.ask(entry, at: Self.moment(0)) == .waits(entry.id, isNew: true))
    }
    #expect(requests.ask(Self.entry("more"), at: Self.moment(0)) == .full)
    #expect(requests.ask(Self.entry("other", grant: "grt_2"), at: Self.moment(0)) == .waits("other", isNew: true))
  }

  @Test func firstVerdictCounts() throws {
    var requests = AccessRequests()
    _ = requests.ask(Self.entry("a"), at: Self.moment(0))
    #expect(requests.decide("a") != nil)
    #expect(requests.decide("a") == nil)
    requests.undecided("a")
    #expect(requests.decide("a") != nil, "what could not be stored was no verdict")
    #expect(requests.decided("a", isAllowed: true, at: Self.moment(1)) == true)
    #expect(requests.decide("a") == nil)
    #expect(requests.decided("a", isAllowed: true, at: Self.moment(1)) == false)
  }

  @Test func refusedRequest_isNotAskedAgainForAMinute() {
    var requests = AccessRequests()
    _ = requests.ask(Self.entry("a"), at: Self.moment(0))
    _ = requests.decide("a")
    _ = requests.decided("a", isAllowed: false, at: Self.moment(0))
    #expect(requests.ask(Self.entry("b"), at: Self.moment(59)) == .refused("a"))
    #expect(requests.ask(Self.entry("b"), at: Self.moment(60)) == .waits("b", isNew: true))
  }

  @Test func grantThatEnds_takesItsRequestsAlong() {
    var requests = AccessRequests()
    _ = requests.ask(Self.entry("a"), at: Self.moment(0))
    _ = requests.ask(Self.entry("b", grant: "grt_2"), at: Self.moment(0))
    #expect(requests.grantsEnded(["grt_1"]).map(\.id) == ["a"])
    #expect(requests.grants == ["grt_2"])
  }

  @Test func reason_isOneLineOf500Characters_withoutHiddenOnes() {
    #expect(Self.entry("a", reason: "one\ntwo\u{202E}three\u{1B}[31m").reason == "one two?three?[31m")
    #expect(Self.entry("a", reason: String(repeating: "é", count: 600)).reason.unicodeScalars.count == 500)
  }
}
