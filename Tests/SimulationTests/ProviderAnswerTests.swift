import AgentModel
import AgentPorts
import AgentSimulation
import LoopbackHTTP
import PracticeProvider
import Testing

/// What providers, portals and proxies say, and what is made of it (DESIGN, Tokens: "Failures are classified…").
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

  /// The session is as good as before, once the pause is over.
  private func recovers(_ scene: Scene, after pause: Milliseconds) async throws {
    #expect(try await scene.session()["state"] == "active")
    await scene.world.clock.sleep(for: pause)
    let answer = try await scene.token()
    #expect(scene.works(answer), "\(answer)")
    #expect(scene.idp.endOfGrant(scene.grant) == nil)
  }

  @Test func aCaptivePortalIsNoAnswerOfTheProviders() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.network.next(
        "/token", .intercepted(status: 200, fields: [("Content-Type", "text/html")], body: "<html>Sign in to Wi-Fi"))
      let answer = try await scene.token()
      #expect(answer.code == 3002, "\(answer)")
      #expect((answer.retryAfterMs ?? 0) > 0)
      try await recovers(scene, after: .seconds(2))
      try await world.restart()
      #expect(scene.works(try await scene.token()), "the portal's page is not on the disk as an answer")
    }
  }

  @Test func a429WithoutRetryAfterWaitsAMinute() throws {
    try meeting(.status(429, "slow down")) { scene, answer in
      #expect(answer.code == 3002)
      let pause = try #require(answer.retryAfterMs)
      #expect((59_000...60_000).contains(pause))
      await scene.world.clock.sleep(for: .seconds(50))
      #expect(try await scene.token().code == 3002)
      #expect(scene.refreshes.count == 1, "nobody is asked in the meantime")
      try await self.recovers(scene, after: .seconds(11))
    }
  }

  @Test(arguments: [503, 429, 408, 425, 500]) func retryAfterInSecondsIsKept(status: Int) throws {
    try meeting(.status(status, "", headers: [("Retry-After", "120")])) { scene, answer in
      #expect(answer.code == 3002)
      #expect((119_000...120_000).contains(answer.retryAfterMs ?? 0), "\(answer)")
      try await self.recovers(scene, after: .seconds(121))
    }
  }

  @Test func retryAfterAsADateIsKept() throws {
    // Five minutes after the expiry of the token, by the server's clock.
    try meeting(.status(503, "", headers: [("Retry-After", "Tue, 01 Jan 2030 01:05:01 GMT")])) { scene, answer in
      #expect(answer.code == 3002)
      let pause = try #require(answer.retryAfterMs)
      #expect((290_000...301_000).contains(pause), "\(pause)")
      try await self.recovers(scene, after: Milliseconds(pause + 1000))
    }
  }

  @Test func retryAfterIsCappedAtAnHour() throws {
    try meeting(.status(503, "", headers: [("Retry-After", "86400")])) { scene, answer in
      #expect((3_599_000...3_600_000).contains(answer.retryAfterMs ?? 0), "\(answer)")
      try await self.recovers(scene, after: .seconds(3601))
    }
  }

  @Test(arguments: ["soon", "-5", "Tue, 32 Foo 2030"]) func retryAfterThatIsNoneIsNotHeard(text: String) throws {
    try meeting(.status(503, "<html>", headers: [("Retry-After", text)])) { scene, answer in
      #expect(answer.code == 3002)
      #expect((1...1000).contains(answer.retryAfterMs ?? 0), "\(answer)")
      try await self.recovers(scene, after: .seconds(2))
    }
  }

  @Test func aRefusedGrantAsksForThePersonAndDeletesNothing() throws {
    try meeting(.error("invalid_grant")) { scene, answer in
      #expect(answer.code == 2004)
      #expect(answer.json["error", "data", "remedies"]?.arrayValue?.first?.stringValue == "reauthenticate")
      #expect(try await scene.session()["state"] == "reauthenticationRequired")
      #expect(try await scene.token().code == 2004)
      #expect(scene.refreshes.count == 1)
      try await scene.world.restart()
      #expect(try await scene.token().code == 2004)
      #expect(scene.refreshes.count == 1, "a refused token is not sent again, also after a restart")
      try await scene.world.signIn("alice", at: scene.provider, again: scene.account)
      #expect(scene.works(try await scene.token()))
    }
  }

  @Test func aDisabledPersonIsLockedOnlyByAConfirmedSignal() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(
        world, more: #","refresh":{"reuse":"strict"},"errorCodes":{"account_disabled":"locked"}"#)
      await scene.expireUnused()
      try scene.idp.setUser("alice", disabled: true)
      #expect(try await scene.token().code == 2006)
      #expect(try await scene.session()["state"] == "locked")
    }
  }

  @Test func aClientThatIsNotKnownIsAConfigurationAndNotASession() throws {
    try meeting(.error("invalid_client", status: 401)) { scene, answer in
      #expect(answer.code == 3003, "\(answer)")
      #expect(answer.reason == "invalid_client")
      let mended = try await scene.world.client().call(
        "provider.update", #"{"provider":"idp","clientId":"lanyard-demo"}"#)
      #expect(mended.error == nil, "\(mended)")
      #expect(scene.works(try await scene.token()))
    }
  }

  @Test func aScopeThatIsRefusedSpoilsNoOtherToken() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let refused = try await scene.token(#","scopes":["workorders:write"]"#)
      #expect(refused.code == 3003, "\(refused)")
      #expect(scene.works(try await scene.token()))
      await scene.expireUnused()
      #expect(scene.works(try await scene.token()), "one wish that was wrong does not stop the account")
    }
  }

  @Test func aWishForThePersonHoldsForThatAudienceOnly() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      scene.idp.enqueueFault(
        "/token", .error("interaction_required"), resource: "https://payroll.example/")
      let answer = try await scene.token(#","resource":"https://payroll.example/""#)
      #expect(answer.code == 2005, "\(answer)")
      #expect(scene.works(try await scene.token()))
      #expect(try await scene.token(#","resource":"https://payroll.example/""#).code == 2005)
    }
  }

  @Test func anAnswerOverTheBoundIsUnknownAndNotReplayed() throws {
    try meeting(Fault(.hugeBody(bytes: 2 << 20))) { scene, answer in
      #expect(answer.code == 2004, "\(answer)")
      #expect(answer.reason == "outcomeUnknown")
      #expect(scene.refreshes.count == 1)
    }
  }

  @Test func anAnswerThatNeverEndsIsUnknown() throws {
    try meeting(Fault(.truncatedBody(bytes: 40))) { scene, answer in
      #expect(answer.code == 2004, "\(answer)")
      #expect(scene.refreshes.count == 1)
    }
  }

  @Test func aNarrowedScopeIsToldAndKept() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let watcher = try world.client()
      _ = await watcher.call("event.subscribe", #"{"types":["token.scopesNarrowed","token.refreshed"]}"#)
      await scene.expireUnused()
      scene.idp.enqueueFault("/token", Fault(.changeAnswer(["scope": "openid profile"])))
      let answer = try await scene.token()
      #expect(answer.json["result", "scopes"] == .strings(["openid", "profile"]), "\(answer)")
      let event = try #require(watcher.events.first { $0["type"]?.stringValue == "token.scopesNarrowed" })
      #expect(event["data", "lost"] == .strings(["email", "offline_access"]))
      try await world.restart()
      #expect(try await scene.session().json["result", "scopes"] == .strings(["openid", "profile"]))
    }
  }

  /// OpenID Connect Core §12.2: the subject of a refreshed ID token is the one of the sign-in.
  @Test func anotherSubjectAttachesNothing() throws {
    try meeting(Fault(.changeIDToken(["sub": "mallory"]))) { scene, answer in
      #expect(answer.code == 2004, "\(answer)")
      #expect(answer.reason == "subjectChanged")
      try await scene.world.restart()
      #expect(try await scene.token().code == 2004)
      #expect(scene.refreshes.count == 1)
    }
  }

  @Test(arguments: ["iss", "aud", "azp", "auth_time"]) func otherClaimsMustStayToo(claim: String) throws {
    let other: PracticeJSON = claim == "auth_time" ? 1 : "https://elsewhere.example"
    try meeting(Fault(.changeIDToken([claim: other]))) { scene, answer in
      #expect(answer.code == 2004, "\(claim): \(answer)")
    }
  }

  @Test(arguments: [
    Fault.status(400, "", headers: [], count: nil), .error("invalid_request", count: nil),
    .status(403, "<html>", headers: [], count: nil),
  ]) func aRefusalThatExplainsNothingIsPatientTwice(refusal: Fault) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      scene.idp.enqueueFault("/token", refusal)
      var codes: [Int?] = []
      for _ in 0..<3 {
        let answer = try await scene.token()
        codes.append(answer.code)
        await world.clock.sleep(for: Milliseconds((answer.retryAfterMs ?? 0) + 1))
      }
      #expect(codes == [3002, 3002, 2004])
      #expect(try await scene.token().reason == "unexplainedRefusal")
      #expect(scene.refreshes.count == 3)
    }
  }

  @Test func aTokenThatLivesHardlyAtAllIsStillGiven() throws {
    try scenario { world in
      var options = Scene.options
      options.accessTokenLifetimeSeconds = 30
      let scene = try await Scene.signedIn(world, options: options)
      #expect(scene.works(try await scene.token()))
      #expect(scene.refreshes.isEmpty, "a minimum of 60 s, which this provider never gives, makes no exchange a call")
      await world.clock.sleep(for: .seconds(31))
      #expect(scene.works(try await scene.token()))
      #expect(scene.refreshes.count == 1)
    }
  }

  @Test func aClockThatIsWrongChangesNoLifetime() throws {
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

  @Test func aMachineThatSleptAsksAnew() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.clock.suspend(for: .seconds(3600))
      let answer = try await scene.token()
      #expect(answer["source"] == "refreshed")
      #expect(scene.works(answer))
    }
  }
}

extension PracticeProvider {
  fileprivate func enqueueFault(_ path: String, _ fault: Fault, resource: String) {
    var fault = fault
    fault.matching = ["resource": resource]
    fault.count = nil
    enqueueFault(path, fault)
  }
}
