import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// One state of an account, for all that tells it, and what it gives out in each (docs/tokens.md, One state). The same
/// agreement is held after every step of every scenario by `StateAgreement`.
@Suite struct SessionStateTests {
  /// What `session.get`, `account.get`, `account.list` and `agent.status` tell of the only account.
  private static func states(of scene: Scene) async throws -> Set<String> {
    let client = try scene.world.client()
    defer { client.disconnect() }
    let status = await client.call("agent.status").result?["accounts"]?["byState"]
    let words = [
      "active", "offlineStale", "interactionRequired", "reauthenticationRequired", "locked", "signedOut",
    ]
    return Set(
      [
        try await scene.session()["state"], try await scene.account()["state"],
        await client.call("account.list").result?["accounts"]?.arrayValue?.first?["state"]?.stringValue,
        words.first { status?[$0]?.integerValue == 1 },
      ].map { $0 ?? "none" })
  }

  private static func secret(_ scene: Scene, _ method: String, _ more: String = "") async throws -> SimulatedAnswer {
    let client = try scene.world.client()
    defer { client.disconnect() }
    return await client.call(method, #"{"account":"\#(scene.account)","name":"app/draft"\#(more)}"#)
  }

  /// The default rule: the answer is lost, and so are those to the last replays.
  @Test func unansweredRefreshes_endTheSessionForAllThatTellIt() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: #","allowedOrigins":[]"#)
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      world.network.next("/token", .lostRequest(.reset), times: 3)
      for _ in 0..<20 where scene.refreshes.count < 3 {
        _ = try await scene.token()
        await world.clock.sleep(for: .seconds(30))
      }
      try await scene.token().isExpected(2004, reason: "outcomeUnknown", account: scene.account)
      #expect(try await Self.states(of: scene) == ["reauthenticationRequired"])
      #expect(witness.states == ["reauthenticationRequired"])
      #expect(witness.expiries == ["outcomeUnknown"])

      let since = try await scene.session()["since"]
      #expect(since != nil)
      await world.clock.sleep(for: .seconds(100))
      #expect(try await scene.session()["since"] == since, "it is when the state began")
      try await world.restart()
      #expect(try await scene.account()["state"] == "reauthenticationRequired", "before anything has loaded it")
      #expect(try await Self.states(of: scene) == ["reauthenticationRequired"])
      #expect(try await scene.session()["since"] == since, "also over a restart")
    }
  }

  /// A replay is still to come: neither a restart nor the profile on the disk tells another state.
  @Test func doubtThatMayBeRepaired_isActiveAlsoOverARestart() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: #","allowedOrigins":[]"#)
      let witness = try await Witness.at(world)
      world.network.next("/token", .lostRequest(.reset))
      try await scene.token(method: "token.refresh").isExpected(3002, account: scene.account)
      #expect(try await Self.states(of: scene) == ["active"])
      #expect(witness.states == [] && witness.expiries == [])
      try await world.restart()
      #expect(try await scene.account()["state"] == "active")
      #expect(try await Self.states(of: scene) == ["active"])
    }
  }

  /// Nothing may repair it: the token at hand is served until it expires, and then the person is told.
  @Test func doubtThatNothingRepairs_isToldWhenTheTokenHasExpired() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let witness = try await Witness.at(world)
      world.network.next("/token", .lostRequest(.reset))
      try await scene.token(method: "token.refresh").isExpected(2004, reason: "outcomeUnknown", account: scene.account)
      #expect(try await Self.states(of: scene) == ["active"])
      #expect(scene.works(try await scene.token()))
      #expect(witness.states == [] && witness.expiries == [])
      await scene.expireUnused()
      #expect(witness.states == ["reauthenticationRequired"] && witness.expiries == ["outcomeUnknown"])
      #expect(try await Self.states(of: scene) == ["reauthenticationRequired"])
      try await scene.token().isExpected(2004, reason: "outcomeUnknown", account: scene.account)
    }
  }

  /// Where a replay is forgiven for a while, its end changes the state without a request.
  @Test func graceThatEndsUnused_isToldWhenItEnds() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, rotation: .grace(seconds: 120))
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      world.network.next("/token", .lostRequest(.reset))
      world.network.next("/token", .notConnected(.refused), times: 100)
      #expect(try await scene.token().code == 3001)
      #expect(try await Self.states(of: scene) == ["offlineStale"])
      await world.clock.sleep(for: .seconds(61))
      #expect(witness.states == ["offlineStale", "reauthenticationRequired"])
      #expect(witness.expiries == ["outcomeUnknown"])
      #expect(try await Self.states(of: scene) == ["reauthenticationRequired"])
    }
  }

  /// The account was loaded by a list alone, and is not asked for again.
  @Test func graceThatEndsAfterARestart_isToldWhenItEnds() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, rotation: .grace(seconds: 600))
      await scene.expireUnused()
      world.network.next("/token", .lostRequest(.reset))
      world.network.next("/token", .notConnected(.refused), times: nil)
      _ = try await scene.token()
      try await world.restart()
      let witness = try await Witness.at(world)
      let observer = try world.client(isObserver: true)
      #expect(await observer.call("account.list").error == nil)
      await world.clock.sleep(for: .seconds(601))
      #expect(witness.states.last == "reauthenticationRequired")
      #expect(witness.expiries == ["outcomeUnknown"])
    }
  }

  /// Figures that are read before anything else say what `agent.status` says.
  @Test func figuresAfterAKillDuringARefresh_tellTheState() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      _ = try await scene.heldExchange("token.refresh")
      world.crash()
      try await world.restart()
      let observer = try world.client(isObserver: true)
      let gauges = await observer.call("metrics.read").result?["gauges"]?.arrayValue ?? []
      let samples = gauges.first { $0["name"]?.stringValue == "lanyard_accounts" }?["samples"]?.arrayValue ?? []
      let counted = samples.filter { $0["value"]?.integerValue == 1 }.map { $0["labels", "state"]?.stringValue }
      #expect(counted == ["reauthenticationRequired"])
    }
  }

  private static func findings(_ world: SimulatedWorld, _ check: String) async throws -> [String] {
    let client = try world.client()
    defer { client.disconnect() }
    let all = await client.call("agent.diagnose").result?["findings"]?.arrayValue ?? []
    return all.filter { $0["check"]?.stringValue == check }.compactMap { $0["message"]?.stringValue }
  }

  /// A disabled account's refresh token is on the disk alone; the look sends it, and another person's answer ends it.
  @Test func lookThatIsAnsweredForAnotherPerson_revokesWhatWasSent() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, rotation: .none)
      try scene.idp.setUser("alice", disabled: true)
      try await scene.token(method: "token.refresh").isExpected(2006, account: scene.account)
      await world.clock.sleep(for: .seconds(901))
      try scene.idp.setUser("alice", disabled: false)
      scene.idp.enqueueFault("/token", Fault(.changeIDToken(["sub": .string("mallory")])))
      try await scene.token().isExpected(2004, reason: "subjectChanged", account: scene.account)
      await world.clock.sleep(for: .seconds(10))
      #expect(!scene.idp.isActive(refreshToken: scene.firstRefreshToken))
      #expect(scene.idp.activeRefreshTokens().isEmpty)
      let told = try await Self.findings(world, "session")
      #expect(told.count == 1 && told[0].contains("another person"), "\(told)")
    }
  }

  @Test func doctor_saysThatThereIsNoRefreshToken() throws {
    try scenario { world in
      var options = Scene.options
      options.issuesRefreshTokens = false
      let provider = try await world.provider("idp", options: options)
      let account = try await world.signIn("alice", at: provider, alias: "work")
      let client = try world.client()
      await world.clock.sleep(for: .seconds(3601))
      await client.call("token.get", #"{"account":"\#(account)"}"#)
        .isExpected(2004, reason: "noRefreshToken", account: account)
      let told = try await Self.findings(world, "session")
      #expect(told.count == 1 && told[0].contains("has no refresh token"), "\(told)")
    }
  }

  /// The provider told that the machine's clock is behind. At the next boot the clock is right, and the provider has told
  /// nothing yet.
  @Test func doctor_blamesNoClockThatWasPutRight() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.clock.setWall(world.clock.trueTime + .seconds(-3600))
      #expect(scene.works(try await scene.token(method: "token.refresh")))
      #expect(try await Self.findings(world, "clock").contains { $0.contains("behind the provider") })
      world.crash()
      world.clock.reboot(after: .seconds(600))
      world.clock.setWall(world.clock.trueTime)
      try await world.restart()
      #expect(try await !Self.findings(world, "clock").contains { $0.contains("behind the provider") })
    }
  }

  @Test func doctor_tellsAClockThatIsAhead() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.clock.setWall(world.clock.trueTime + .seconds(3600))
      #expect(scene.works(try await scene.token(method: "token.refresh")))
      #expect(try await Self.findings(world, "clock").contains { $0.contains("ahead of the provider") })
    }
  }

  /// A server may take the token of a disabled account on, and repeat it. The agent recognises it, and no program is told
  /// what to look for.
  @Test func withdrawnTokens_areSearchedForAndToldToNoProgram() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: #","allowedOrigins":["https://idp.test"]"#)
      let home = try await world.signIn("bob", at: scene.provider, alias: "home")
      let client = try world.client()
      let token = try #require(try await scene.token()["accessToken"])
      let asked = #"{"account":"\#(home)","method":"GET","url":"https://idp.test/protected"}"#
      #expect(await client.call("request.authorize", asked)["otherTokens"]?.contains(token) == true)
      try scene.idp.setUser("alice", disabled: true)
      try await scene.token(method: "token.refresh").isExpected(2006, account: scene.account)
      let authorized = await client.call("request.authorize", asked)
      #expect(authorized["accessToken"] != nil && authorized["otherTokens"]?.contains(token) != true, "\(authorized)")

      let grant = await client.call(
        "grant.create", #"{"client":"bot","accounts":["work","home"],"methods":["request.send"]}"#)
      let secret = try #require(grant["secret"], "\(grant)")
      let bot = try world.client()
      _ = await bot.call("agent.hello", #"{"client":{"name":"bot","version":"1"},"grant":"\#(secret)"}"#)
      scene.idp.enqueueFault("/protected", .status(200, #"{"was":"\#(token)"}"#))
      let answer = await bot.call("request.send", asked)
      #expect(answer.code == 1007, "\(answer)")
      #expect(answer.json["error", "data", "reason"]?.stringValue == "tokenRepeated", "\(answer)")
    }
  }

  /// The provider refuses the grant while its access token lives.
  @Test(arguments: [false, true]) func refusedGrant_givesOutNoToken(isPersisted: Bool) throws {
    try scenario { world in
      let more = #","refresh":{"reuse":"strict"},"persistAccessTokens":\#(isPersisted)"#
      let scene = try await Scene.signedIn(world, more: more)
      #expect(try await Self.secret(scene, "secret.put", #","value":"not-a-secret""#).error == nil)
      let fingerprint = try #require(try await scene.token()["fingerprint"])
      #expect(scene.idp.revoke(grant: scene.grant))
      try await scene.token(method: "token.refresh").isExpected(2004, account: scene.account)
      for round in 0..<2 {
        let client = try world.client()
        try await scene.token(#","minimumLifetimeSeconds":0"#).isExpected(2004, account: scene.account)
        try await scene.token(method: "identity.get").isExpected(2004, account: scene.account)
        await client.call("token.reject", scene.rejecting(fingerprint)).isExpected(2004, account: scene.account)
        let session = try await scene.session()
        #expect(session["freshness"] == "none" && session["accessTokenExpiresAt"] == nil, "\(session)")
        #expect(try await Self.secret(scene, "secret.get")["value"] == "not-a-secret", "its data is there")
        if round == 0 { try await world.restart() }
      }
    }
  }

  /// A refresh without a refresh token asks the provider nothing, so that it says nothing of the access token.
  @Test func grantWithoutARefreshToken_servesItsTokenToItsEnd() throws {
    try scenario { world in
      var options = Scene.options
      options.issuesRefreshTokens = false
      let provider = try await world.provider("idp", options: options)
      let account = try await world.signIn("alice", at: provider, alias: "work")
      let client = try world.client()
      let asked = #"{"account":"\#(account)"}"#
      let refused = await client.call("token.refresh", asked)
      #expect(refused.code == 3003 && refused.reason == "noRefreshToken", "\(refused)")
      let token = await client.call("token.get", asked)
      #expect(token["accessToken"].map { provider.idp.isActive(accessToken: $0) } == true, "\(token)")
    }
  }

  @Test func disabledAccount_givesNothingOutAndComesBack() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      #expect(try await Self.secret(scene, "secret.put", #","value":"not-a-secret""#).error == nil)
      try scene.idp.setUser("alice", disabled: true)
      try await scene.token(method: "token.refresh").isExpected(2006, account: scene.account)
      #expect(try await Self.states(of: scene) == ["locked"])
      for round in 0..<2 {
        try await scene.token(#","minimumLifetimeSeconds":0"#).isExpected(2006, account: scene.account)
        try await scene.token(method: "identity.get").isExpected(2006, account: scene.account)
        try await Self.secret(scene, "secret.get").isExpected(2006, account: scene.account)
        let session = try await scene.session()
        #expect(session["offlineGraceUntil"] == nil && session["accessTokenExpiresAt"] == nil, "\(session)")
        if round == 0 { try await world.restart() }
      }
      // Still disabled at the next look: its refresh token is on the disk for the one after.
      await world.clock.sleep(for: .seconds(901))
      try await scene.token().isExpected(2006, account: scene.account)
      try scene.idp.setUser("alice", disabled: false)
      await world.clock.sleep(for: .seconds(901))
      #expect(scene.works(try await scene.token()))
      #expect(try await Self.states(of: scene) == ["active"])
      #expect(try await Self.secret(scene, "secret.get")["value"] == "not-a-secret")
      try await scene.livesOn()
    }
  }
}
