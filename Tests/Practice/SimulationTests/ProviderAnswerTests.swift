import AgentModel
import AgentPorts
import AgentSimulation
import LoopbackHTTP
import PracticeProvider
import Testing

/// Provider responses and their classification (docs/tokens.md, Failures). More, in many seeds, is in
/// `RefusalScenarios` and `AnswerScenarios`.
@Suite struct ProviderAnswerTests {
  /// Meets `fault` at the refresh of an expired token.
  private func meeting(
    _ fault: Fault, _ check: @escaping @Sendable (Scene, SimulatedAnswer) async throws -> Void
  ) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      scene.idp.enqueueFault("/token", fault)
      try await check(scene, try await scene.token())
    }
  }

  /// The session works again once the pause is over.
  private func recovers(_ scene: Scene, after pause: Milliseconds) async throws {
    #expect(try await scene.session()["state"] == "active")
    await scene.world.clock.sleep(for: pause)
    let answer = try await scene.token()
    #expect(scene.works(answer), "\(answer)")
    #expect(scene.idp.endOfGrant(scene.grant) == nil)
  }

  @Test func status429WithoutRetryAfter_waitsAMinute() throws {
    try meeting(.status(429, "slow down")) { scene, answer in
      #expect(answer.code == 3002)
      let pause = try #require(answer.retryAfterMs)
      #expect((59_000...60_000).contains(pause))
      await scene.world.clock.sleep(for: .seconds(50))
      #expect(try await scene.token().code == 3002)
      #expect(scene.refreshes.count == 1, "no request in the meantime")
      try await self.recovers(scene, after: .seconds(11))
    }
  }

  @Test(arguments: ["soon", "-5", "Tue, 32 Foo 2030"]) func malformedRetryAfter_isIgnored(text: String) throws {
    try meeting(.status(503, "<html>", headers: [("Retry-After", text)])) { scene, answer in
      #expect(answer.code == 3002)
      #expect((1...1000).contains(answer.retryAfterMs ?? 0), "\(answer)")
      try await self.recovers(scene, after: .seconds(2))
    }
  }

  @Test func invalidClient_isAConfigurationErrorThatKeepsTheSession() throws {
    try meeting(.error("invalid_client", status: 401)) { scene, answer in
      #expect(answer.code == 3003, "\(answer)")
      #expect(answer.reason == "invalid_client")
      let mended = try await scene.world.client().call(
        "provider.update", #"{"provider":"idp","clientId":"lanyard-demo"}"#)
      #expect(mended.error == nil, "\(mended)")
      #expect(scene.works(try await scene.token()))
    }
  }

  @Test func refusedScope_leavesOtherTokensUsable() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let refused = try await scene.token(#","scopes":["workorders:write"]"#)
      #expect(refused.code == 3003, "\(refused)")
      #expect(scene.works(try await scene.token()))
      await scene.expireUnused()
      #expect(scene.works(try await scene.token()), "a refused scope does not stop the account")
    }
  }

  @Test(arguments: ["iss", "sub"])
  func refreshedIDTokenOfAnotherPerson_requiresASignIn(claim: String) throws {
    try meeting(Fault(.changeIDToken([claim: "https://elsewhere.example"]))) { scene, answer in
      #expect(answer.code == 2004, "\(claim): \(answer)")
    }
  }

  @Test(arguments: ["aud", "azp", "auth_time", "nonce"])
  func refreshedIDTokenWithAnotherFault_keepsTheSession(claim: String) throws {
    let other: PracticeJSON = claim == "auth_time" ? 1 : "https://elsewhere.example"
    try meeting(Fault(.changeIDToken([claim: other]))) { scene, answer in
      #expect(scene.works(answer), "\(claim): \(answer)")
      #expect(scene.idp.activeRefreshTokens(user: "alice").count == 1, "nothing is revoked")
      let told = try await scene.world.client().call("agent.diagnose", "{}")
      #expect("\(told)".contains("(`\(claim)`)"), "\(told)")
    }
  }

  @Test(arguments: [
    (Fault.status(400, "", headers: [], count: nil), false), (.error("invalid_request", count: nil), false),
    (.status(403, "<html>", headers: [], count: nil), true),
  ]) func unexplainedRefusal_isRetriedTwice(refusal: Fault, isPage: Bool) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      scene.idp.enqueueFault("/token", refusal)
      var codes: [Int?] = []
      // A page may be of a portal, which gets out of the way: it is asked for some minutes.
      while codes.count < 20, codes.last != 2004 {
        let answer = try await scene.token()
        codes.append(answer.code)
        await world.clock.sleep(for: Milliseconds((answer.retryAfterMs ?? 0) + 1))
      }
      #expect(codes.last == 2004 && codes.dropLast().allSatisfy { $0 == 3002 }, "\(codes)")
      #expect(isPage ? codes.count > 6 : codes.count == 3, "\(codes)")
      #expect(try await scene.token().reason == "unexplainedRefusal")
      #expect(scene.refreshes.count == codes.count)
    }
  }

  @Test func wrongWallClock_changesNoTokenLifetime() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.clock.setWall(Timestamp(year: 2031, month: 6, day: 1))
      #expect(try await scene.token()["source"] == "cache")
      await scene.expireUnused()
      let answer = try await scene.token()
      #expect(scene.works(answer))
      #expect(answer["source"] == "refreshed")
    }
  }

  @Test func machineThatSlept_refreshesItsExpiredToken() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.clock.suspend(for: .seconds(3600))
      let answer = try await scene.token()
      #expect(answer["source"] == "refreshed")
      #expect(scene.works(answer))
    }
  }
}
