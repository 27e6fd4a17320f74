import AgentCore
import AgentModel
import Testing

/// Tokens that were exchanged for the account's access token (docs/tokens.md, Exchanged tokens).
struct DerivedTokensTests {
  let start = BootInstant(milliseconds: 1_000_000)
  let billing = DerivedTokenKey(audience: "billing")

  func facts(_ serial: UInt64, after seconds: Int64 = 0) -> DerivedTokenFacts {
    .init(
      serial: serial, lifetime: .seconds(300), expiresAt: start + .seconds(seconds + 300), fingerprint: "print\(serial)"
    )
  }

  func at(_ seconds: Int64) -> BootInstant { start + .seconds(seconds) }

  @Test func tokenServesUntilItsLeadTime() {
    var tokens = DerivedTokens<DerivedTokenKey>()
    #expect(tokens.wanted(billing, at: start) == .ask)
    tokens.brought(billing, facts(1), at: start)
    let (fresh, stale) = (tokens.wanted(billing, at: at(254)), tokens.wanted(billing, at: at(255)))
    #expect(fresh == .answer(serial: 1))
    #expect(stale == .ask)
    #expect(tokens.live(billing, at: at(299)) == 1)
    #expect(tokens.live(billing, at: at(300)) == nil)
  }

  @Test func keysShareNoToken() throws {
    var tokens = DerivedTokens<DerivedTokenKey>()
    tokens.brought(billing, facts(1), at: start)
    let others = [
      DerivedTokenKey(), DerivedTokenKey(resource: "billing"),
      DerivedTokenKey(audience: "billing", scopes: ScopeSet(["a"])),
      DerivedTokenKey(audience: "billing", type: "urn:ietf:params:oauth:token-type:jwt"),
      DerivedTokenKey(
        audience: "billing", details: try AuthorizationDetails(parsing: #"[{"type":"a"}]"#, atMost: 4096)),
    ]
    for other in others {
      let step = tokens.wanted(other, at: start)
      #expect(step == .ask)
    }
  }

  @Test func refusalIsAnsweredFromMemoryForAMinute() {
    var tokens = DerivedTokens<DerivedTokenKey>()
    let refusal = ExchangeFailure.misconfigured("invalid_target")
    let pause = tokens.failed(billing, refusal, at: start, jitter: 0)
    #expect(pause == .seconds(60))
    let (held, over) = (tokens.wanted(billing, at: at(59)), tokens.wanted(billing, at: at(60)))
    #expect(held == .refuse(refusal, retryAfter: .seconds(1), stale: nil))
    #expect(over == .ask)
    tokens.forgetFailures()
    let reconfigured = tokens.wanted(billing, at: at(1))
    #expect(reconfigured == .ask)
  }

  @Test func failureLeavesATokenThatHasNotExpired() {
    var tokens = DerivedTokens<DerivedTokenKey>()
    tokens.brought(billing, facts(1), at: start)
    let pause = tokens.failed(billing, .transient("status503", retryAfter: .seconds(20)), at: at(260), jitter: 0)
    #expect(pause == .seconds(20))
    let step = tokens.wanted(billing, at: at(261))
    #expect(
      step == .refuse(.transient("status503", retryAfter: .seconds(20)), retryAfter: .seconds(19), stale: 1))
  }

  @Test func refusedTokenIsReplacedOnceInAMinute() {
    var tokens = DerivedTokens<DerivedTokenKey>()
    tokens.brought(billing, facts(1), at: start)
    #expect(tokens.key(ofFingerprint: "print1") == billing)
    #expect(tokens.key(ofFingerprint: "other") == nil)
    let first = tokens.reject(billing, at: start)
    #expect(first == false)
    #expect(tokens.serials.isEmpty)
    tokens.brought(billing, facts(2), at: at(1))
    let second = tokens.reject(billing, at: at(59))
    #expect(second == true)
    #expect(tokens.serials == [2])
    let third = tokens.reject(billing, at: at(60))
    #expect(third == false)
    let gone = tokens.reject(billing, at: at(60))
    #expect(gone == nil)
  }

  @Test func memoryIsBounded_longestUnwantedGoesFirst() {
    var tokens = DerivedTokens<DerivedTokenKey>()
    for number in 0..<DerivedTokens<DerivedTokenKey>.most {
      let key = DerivedTokenKey(audience: "\(number)")
      tokens.brought(key, facts(UInt64(number)), at: at(Int64(number)))
    }
    _ = tokens.wanted(DerivedTokenKey(audience: "0"), at: at(100))
    tokens.brought(billing, facts(1000), at: at(101))
    #expect(tokens.serials.count == DerivedTokens<DerivedTokenKey>.most)
    #expect(tokens.serials.contains(0))
    #expect(!tokens.serials.contains(1))
    #expect(tokens.serials.contains(1000))
  }
}
