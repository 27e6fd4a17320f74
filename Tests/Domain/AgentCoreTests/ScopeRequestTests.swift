import AgentCore
import AgentModel
import Testing

@Suite struct ScopeRequestTests {
  private let granted = ScopeSet(["openid", "read", "write"])

  private func request(
    _ scopes: [String], isNarrowed: Bool = false, exactly: Bool = false, at narrowing: ProviderConfiguration.Narrowing
  ) -> ScopeRequest {
    ScopeRequest.of(ScopeSet(scopes), granted: granted, isNarrowed: isNarrowed, exactly: exactly, at: narrowing)
  }

  @Test func fewerScopes_areRequestedOnlyWhereTheGrantKeepsItsScopes() {
    #expect(request(["read"], at: .keeps) == .own(ScopeSet(["read"])))
    #expect(request(["read"], exactly: true, at: .keeps) == .own(ScopeSet(["read"])))
    for narrowing in [ProviderConfiguration.Narrowing.sticks, .unknown] {
      #expect(request(["read"], at: narrowing) == .standard)
      #expect(request(["read"], exactly: true, at: narrowing) == .wouldNarrow)
    }
  }

  @Test func allGrantedScopes_areTheStandardToken() {
    for narrowing in [ProviderConfiguration.Narrowing.keeps, .sticks, .unknown] {
      #expect(request(["write", "read", "openid"], exactly: true, at: narrowing) == .standard)
      #expect(request([], at: narrowing) == .standard)
    }
  }

  @Test func moreScopes_areRequestedWithTheGrantedOnes() {
    let all = ScopeSet(["admin", "openid", "read", "write"])
    #expect(request(["admin"], at: .unknown) == .own(all))
    #expect(request(["admin", "read"], exactly: true, at: .unknown) == .wouldNarrow)
    #expect(request(all.names, exactly: true, at: .unknown) == .own(all))
    #expect(request(["admin"], at: .keeps) == .own(ScopeSet(["admin"])))
  }

  @Test func narrowedGrant_isAskedForExactlyItsScopesOnlyWhereItKeepsThem() {
    #expect(request(granted.names, isNarrowed: true, at: .keeps) == .own(granted))
    #expect(request(granted.names, isNarrowed: true, at: .sticks) == .standard)
  }
}

@Suite struct LearnedReuseTests {
  @Test func sameRefreshTokenOrNone_meansNoRotation() {
    #expect(LearnedReuse.after(nil, broughtAnother: false) == LearnedReuse.none)
    #expect(LearnedReuse.after(LearnedReuse.none, broughtAnother: false) == LearnedReuse.none)
  }

  @Test func anotherRefreshToken_endsWhatWasLearnedForGood() {
    #expect(LearnedReuse.after(LearnedReuse.none, broughtAnother: true) == .rotates)
    #expect(LearnedReuse.after(.rotates, broughtAnother: false) == .rotates)
  }

  // MARK: a caller whose grant names scopes

  private func limited(
    _ scopes: [String]?, within limit: Set<String>, granted: [String], isNarrowed: Bool = false,
    at narrowing: ProviderConfiguration.Narrowing
  ) -> ScopeRequest? {
    ScopeRequest.of(
      scopes.map { ScopeSet($0) }, within: limit, granted: ScopeSet(granted), isNarrowed: isNarrowed, at: narrowing)
  }

  @Test func limitedRequestWithoutScopes_isForTheGrantedOnesWithinTheLimit() {
    #expect(
      limited(nil, within: ["mail", "files"], granted: ["mail", "openid"], at: .keeps) == .own(ScopeSet(["mail"])))
    #expect(limited(nil, within: ["mail", "openid"], granted: ["mail", "openid"], at: .unknown) == .standard)
    #expect(limited(nil, within: ["files"], granted: ["mail"], at: .keeps) == nil)
    #expect(limited([], within: ["mail"], granted: ["mail", "openid"], at: .keeps) == .own(ScopeSet(["mail"])))
  }

  @Test(arguments: [ProviderConfiguration.Narrowing.sticks, .unknown])
  func limitedRequestWhereTheGrantMightNarrow_neverGetsTheCoveringToken(narrowing: ProviderConfiguration.Narrowing) {
    #expect(limited(nil, within: ["mail"], granted: ["mail", "openid"], at: narrowing) == .wouldNarrow)
    #expect(limited(["mail"], within: ["mail"], granted: ["mail", "openid"], at: narrowing) == .wouldNarrow)
  }
}
