import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// State that survives a restart, an unknown outcome and a failing disk.
@Suite(.tellsItsSeed) struct MemoryScenarios {
  /// A replay brought the answer, and the disk was full until long after the grace: the answer is stored then, and no
  /// sign-in is needed.
  @Test func answerOfAReplay_waitsForTheDisk() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: .grace(seconds: 60))
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      world.network.next("/token", .lostAnswer(.reset))
      // Claim, intent, mark, unknown outcome, claim, intent and mark of the replay, and then its answer.
      world.failCommit(8, with: chance.one(of: [.full, .inputOutput]))
      try await scene.token().isExpected(5001, account: scene.account)
      await world.clock.sleep(for: chance.seconds(61...3000))
      let answer = try await scene.token()
      #expect(scene.works(answer), "\(answer)")
      #expect(scene.refreshes.count == 2)
      #expect(witness.expiries == [])
      try await scene.livesOn()
    }
  }

  /// A replay without a connection was not sent: the next process may still replay, within the grace.
  @Test func unsentReplay_isAllowedAfterARestart() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: .grace(seconds: 600))
      await scene.expireUnused()
      world.network.next("/token", .lostAnswer(.reset))
      world.network.next("/token", .notConnected(.nameNotFound))
      try await scene.token().isExpected(3001, account: scene.account)
      await world.clock.sleep(for: chance.seconds(1...100))
      try await world.restart()
      let late = chance.coin()
      if late { await world.clock.sleep(for: .seconds(300)) }
      let answer = try await scene.token()
      if late {
        answer.isExpected(2004, reason: "outcomeUnknown", account: scene.account)
      } else {
        #expect(scene.works(answer), "\(answer)")
        try await scene.livesOn()
      }
    }
  }

  /// A provider's Retry-After holds over a restart.
  @Test func retryAfter_survivesARestart() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      let pause = chance.number(100...3000)
      world.network.next(
        "/token", .intercepted(status: 429, fields: [("Retry-After", "\(pause)")], body: ""))
      try await scene.token().isExpected(3002, account: scene.account)
      let passed = chance.number(1...pause - 50)
      await world.clock.sleep(for: .seconds(Int64(passed)))
      if chance.coin() {
        try await world.restart()
      } else {
        world.crash(.powerLoss(seed: world.seed))
        try await world.restart()
      }
      let left = Int64(pause - passed) * 1000
      try await scene.token().isExpected(3002, account: scene.account, pause: left - 60_000...left)
      #expect(scene.refreshes.count == 1)
      await world.clock.sleep(for: .seconds(Int64(pause)))
      #expect(scene.works(try await scene.token()))
    }
  }

  /// A refused grant costs the provider one request in two minutes, over any requests and restarts.
  @Test func deadGrant_isRetriedAtMostEveryTwoMinutes() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.network.next(
        "/token",
        .intercepted(status: 400, fields: [("Content-Type", "application/json")], body: #"{"error":"invalid_grant"}"#),
        times: nil)
      let witness = try await Witness.at(world)
      for _ in 0..<15 {
        let method = chance.one(of: ["token.get", "token.refresh"])
        try await scene.token(method: method).isExpected(2004, reason: "refused", account: scene.account)
        await world.clock.sleep(for: chance.milliseconds(0...50_000))
      }
      let times = scene.refreshes.map(\.at)
      #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= .seconds(120) }, "\(times)")
      #expect(witness.expiries == ["refused"], "reported once")
      try await world.restart()
      let count = scene.refreshes.count
      try await scene.token(method: "token.refresh").isExpected(2004, reason: "refused", account: scene.account)
      #expect(scene.refreshes.count == count, "a restart is no reason to ask")

      // The provider refused by mistake.
      world.network.clearIncidents()
      await world.clock.sleep(for: .seconds(120))
      #expect(scene.works(try await scene.token(method: "token.refresh")))
      try await scene.livesOn()
    }
  }

  /// With persisted access tokens a restart costs no exchange.
  @Test func persistedAccessTokens_surviveARestart() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, more: #","persistAccessTokens":true"#)
      let audience = #","scopes":["email"]"#
      let first = try await scene.token()
      let narrow = try await scene.token(audience)
      let exchanges = scene.refreshes.count
      let passed = chance.number(0...3000)
      await world.clock.sleep(for: .seconds(Int64(passed)))
      let reboots = chance.coin()
      if reboots { world.crash(.powerLoss(seed: world.seed)) }
      try await world.restart()
      for (wish, before) in [("", first), (audience, narrow)] {
        let answer = try await scene.token(wish)
        #expect(answer["accessToken"] == before["accessToken"], "\(answer)")
        #expect(answer["source"] == "cache")
        #expect(answer["fingerprint"] == before["fingerprint"])
        let left = answer.result?["expiresInSeconds"]?.integerValue ?? 0
        // The reboot took half a minute.
        #expect((3600 - Int64(passed) - 35...3600 - Int64(passed)).contains(left), "\(left)")
      }
      #expect(scene.refreshes.count == exchanges)

      // A wall clock set back makes no token live longer than the machine's uptime allows.
      await scene.expireUnused()
      world.crash(.powerLoss(seed: world.seed))
      world.clock.setWall(world.clock.trueTime + .seconds(-3 * 86_400))
      try await world.restart()
      await world.clock.sleep(for: .seconds(3600))
      #expect(try await scene.token()["source"] == "refreshed")

      // A sign-out removes them.
      let client = try world.client()
      #expect(await client.call("account.signOut", #"{"account":"work","mode":"soft"}"#).error == nil)
      try await world.restart()
      try await scene.token().isExpected(2003, account: scene.account)
    }
  }

  /// A token without an expiry and without a refresh token, as GitHub's OAuth apps issue: it serves until it is
  /// rejected.
  @Test func tokenWithoutExpiryAndRefreshToken_servesUntilRejected() async throws {
    try await everySeed(100) { world, chance in
      let provider = try await world.provider("idp", more: #","persistAccessTokens":true"#)
      provider.idp.enqueueFault(
        "/token", Fault(.changeAnswer(["refresh_token": .null, "expires_in": .null]), count: nil))
      let account = try await world.signIn("alice", at: provider, alias: "work")
      let client = try world.client()
      let first = await client.call("token.get", #"{"account":"work"}"#)
      await world.clock.sleep(for: chance.seconds(1...90 * 86_400))
      if chance.coin() { world.crash(.powerLoss(seed: world.seed)) }
      try await world.restart()
      let witness = try await Witness.at(world)
      let again = try world.client()
      let answer = await again.call("token.get", #"{"account":"work"}"#)
      #expect(answer["accessToken"] == first["accessToken"], "\(answer)")
      #expect(answer["source"] == "cache")
      #expect(witness.expiries == [], "no sign-in is asked for")
      let rejected = await again.call(
        "token.reject", #"{"account":"work","fingerprint":"\#(first["fingerprint"] ?? "")"}"#)
      rejected.isExpected(2004, reason: "noRefreshToken", account: account)
      #expect(witness.expiries == ["noRefreshToken"])
    }
  }

  /// Without the option, access tokens are in memory only.
  @Test func accessTokens_areNotPersistedByDefault() async throws {
    try await everySeed(50) { world, _ in
      let scene = try await Scene.signedIn(world)
      #expect(try await scene.token()["source"] == "cache")
      try await world.restart()
      #expect(try await scene.token()["source"] == "refreshed")
    }
  }
}
