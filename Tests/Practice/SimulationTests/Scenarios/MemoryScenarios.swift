import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// What outlives a restart, a doubt and a failing disk.
@Suite(.tellsItsSeed) struct MemoryScenarios {
  /// A replay brought the answer, and the disk was full until long after the grace: the answer is kept then, and
  /// nobody signs in.
  @Test func theAnswerOfAReplayWaitsForTheDisk() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: .grace(seconds: 60))
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      world.network.next("/token", .lostAnswer(.reset))
      // Intent, doubt, intent of the replay, and then its answer.
      world.failCommit(4, with: chance.one(of: [.full, .inputOutput]))
      try await scene.token().isExpected(5001, account: scene.account)
      await world.clock.sleep(for: chance.seconds(61...3000))
      let answer = try await scene.token()
      #expect(scene.works(answer), "\(answer)")
      #expect(scene.refreshes.count == 2)
      #expect(witness.expiries == [])
      try await scene.livesOn()
    }
  }

  /// A replay that found no connection was no replay: another process has the right to it, within the grace.
  @Test func aReplayThatNeverLeftIsNotSpentByARestart() async throws {
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

  /// What a provider asked for stands over a restart.
  @Test func aRestartDoesNotShortenAPause() async throws {
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

  /// A refused grant costs the provider one request in two minutes, whatever is asked and through how many restarts.
  @Test func aDeadGrantIsNotALoop() async throws {
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
      #expect(witness.expiries == ["refused"], "told once")
      try await world.restart()
      let count = scene.refreshes.count
      try await scene.token(method: "token.refresh").isExpected(2004, reason: "refused", account: scene.account)
      #expect(scene.refreshes.count == count, "a restart is no reason to ask")

      // It was the provider's mistake.
      world.network.clearIncidents()
      await world.clock.sleep(for: .seconds(120))
      #expect(scene.works(try await scene.token(method: "token.refresh")))
      try await scene.livesOn()
    }
  }

  /// Where a provider's access tokens are kept, a restart costs no exchange.
  @Test func keptAccessTokens() async throws {
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

      // A wall clock that was set back makes nobody's token live longer than the machine has been up.
      await scene.expireUnused()
      world.crash(.powerLoss(seed: world.seed))
      world.clock.setWall(world.clock.trueTime + .seconds(-3 * 86_400))
      try await world.restart()
      await world.clock.sleep(for: .seconds(3600))
      #expect(try await scene.token()["source"] == "refreshed")

      // Signed out, they are gone.
      let client = try world.client()
      #expect(await client.call("account.signOut", #"{"account":"work","mode":"soft"}"#).error == nil)
      try await world.restart()
      try await scene.token().isExpected(2003, account: scene.account)
    }
  }

  /// A token without an end and without a successor, as GitHub's OAuth apps give: it serves until it is rejected.
  @Test func aTokenThatNothingComesAfter() async throws {
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
      #expect(witness.expiries == [], "nobody is asked to sign in")
      let rejected = await again.call(
        "token.reject", #"{"account":"work","fingerprint":"\#(first["fingerprint"] ?? "")"}"#)
      rejected.isExpected(2004, reason: "noRefreshToken", account: account)
      #expect(witness.expiries == ["noRefreshToken"])
    }
  }

  /// Others live in memory only.
  @Test func accessTokensAreNotKeptOtherwise() async throws {
    try await everySeed(50) { world, _ in
      let scene = try await Scene.signedIn(world)
      #expect(try await scene.token()["source"] == "cache")
      try await world.restart()
      #expect(try await scene.token()["source"] == "refreshed")
    }
  }
}
