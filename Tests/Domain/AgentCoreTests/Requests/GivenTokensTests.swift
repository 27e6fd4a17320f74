import AgentCore
import AgentModel
import Testing

/// What the repeat of a request has still, whose token the server refused.
@Suite struct GivenTokensTests {
  private static let work = AccountID(bytes: [UInt8](repeating: 1, count: 16))!
  private static let rights = GivenTokens.Rights(approved: ["comment"], used: ["comment", "everything"])

  private static func moment(_ seconds: Int64) -> BootInstant { BootInstant(milliseconds: seconds * 1_000) }

  private static func request(
    _ url: String = "https://api.test/tickets", grant: String? = "grt_1", method: String = "POST"
  ) -> GivenTokens.Request {
    GivenTokens.Request(grant: grant, account: work, method: method, url: url)
  }

  private static func given() -> GivenTokens {
    var tokens = GivenTokens()
    tokens.gave("fp1", isBound: true, for: request(), rights, at: moment(0))
    return tokens
  }

  @Test func tokenThatTheServerRefused_isReplacedUnderTheSameRights_once() {
    var tokens = Self.given()
    let request = Self.request()
    #expect(tokens.retakes(request, rejected: "fp1", wantsNonce: false, at: Self.moment(59))?.rights == Self.rights)
    #expect(tokens.retakes(request, rejected: "fp1", wantsNonce: false, at: Self.moment(59))?.rights == nil)
    tokens = Self.given()
    #expect(tokens.retakes(request, rejected: nil, wantsNonce: true, at: Self.moment(1))?.rights == Self.rights)
    #expect(tokens.retakes(request, rejected: "fp1", wantsNonce: false, at: Self.moment(1))?.rights == nil)
    tokens = Self.given()
    #expect(tokens.retakes(request, rejected: "fp1", wantsNonce: false, at: Self.moment(60))?.rights == nil)
  }

  @Test func anotherTokenRequestGrantOrMethod_hasNothing() {
    var tokens = Self.given()
    #expect(tokens.retakes(Self.request(), rejected: "fp2", wantsNonce: true, at: Self.moment(1))?.rights == nil)
    #expect(tokens.retakes(Self.request(), rejected: nil, wantsNonce: false, at: Self.moment(1))?.rights == nil)
    for other in [
      Self.request("https://api.test/other"), Self.request(grant: "grt_2"), Self.request(grant: nil),
      Self.request(method: "PUT"),
    ] {
      #expect(tokens.retakes(other, rejected: "fp1", wantsNonce: false, at: Self.moment(1))?.rights == nil)
    }
  }

  @Test func tokenThatIsNotBound_hasNoNonceToWaitFor() {
    var tokens = GivenTokens()
    tokens.gave("fp1", isBound: false, for: Self.request(), Self.rights, at: Self.moment(0))
    #expect(tokens.retakes(Self.request(), rejected: nil, wantsNonce: true, at: Self.moment(1))?.rights == nil)
    #expect(
      tokens.retakes(Self.request(), rejected: "fp1", wantsNonce: false, at: Self.moment(1))?.rights == Self.rights)
  }

  @Test func repeatThatGotNoToken_isTheRepeatStill() throws {
    var tokens = Self.given()
    let found = tokens.retakes(Self.request(), rejected: "fp1", wantsNonce: false, at: Self.moment(1))
    let retaken = try #require(found)
    tokens.failed(retaken)
    #expect(
      tokens.retakes(Self.request(), rejected: "fp1", wantsNonce: false, at: Self.moment(59))?.rights == Self.rights)
    tokens.failed(retaken)
    #expect(tokens.retakes(Self.request(), rejected: "fp1", wantsNonce: false, at: Self.moment(60))?.rights == nil)
  }

  @Test func sameRequestTwiceAtOnce_isRepeatedTwice() {
    var tokens = Self.given()
    tokens.gave("fp1", isBound: true, for: Self.request(), Self.rights, at: Self.moment(1))
    for _ in 0..<2 {
      #expect(
        tokens.retakes(Self.request(), rejected: "fp1", wantsNonce: false, at: Self.moment(2))?.rights == Self.rights)
    }
    #expect(tokens.retakes(Self.request(), rejected: "fp1", wantsNonce: false, at: Self.moment(2))?.rights == nil)
  }

  @Test func bound_dropsTheOldest_andARequestWithoutRightsIsNotKept() {
    var tokens = Self.given()
    for number in 0...GivenTokens.most {
      tokens.gave(
        "fp2", isBound: true, for: Self.request("https://api.test/\(number)"), GivenTokens.Rights(), at: Self.moment(0))
    }
    for number in 1..<GivenTokens.most {
      tokens.gave(
        "fp2", isBound: true, for: Self.request("https://api.test/\(number)"), Self.rights, at: Self.moment(0))
    }
    var full = tokens
    #expect(full.retakes(Self.request(), rejected: "fp1", wantsNonce: false, at: Self.moment(1))?.rights == Self.rights)
    tokens.gave("fp2", isBound: true, for: Self.request("https://api.test/more"), Self.rights, at: Self.moment(0))
    #expect(tokens.retakes(Self.request(), rejected: "fp1", wantsNonce: false, at: Self.moment(1))?.rights == nil)
  }
}
