import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// Accounts that do not delay each other, callers that go away, people who act during an exchange.
@Suite struct ConcurrencyTests {
  static let seeds: ClosedRange<UInt64> = 1...40

  @Test func aProviderThatHangsDelaysNobodyElse() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let dead = try await Scene.signedIn(world)
        let other = try await world.provider("other")
        try await world.signIn("bob", at: other, alias: "cached")
        try await world.signIn("carol", at: other, alias: "uncached")
        await dead.expireUnused()
        let client = try world.client()
        _ = await client.call("token.get", #"{"account":"cached"}"#)

        let gate = Gate()
        world.network.next("/token", .heldBefore(gate), host: "idp.test", times: nil)
        let hanging = client.send("token.get", #"{"account":"work"}"#)
        await gate.reached()
        let start = world.clock.boot()
        #expect(await client.call("token.get", #"{"account":"cached"}"#)["source"] == "cache", "seed \(seed)")
        #expect(world.clock.boot() == start, "a cached token takes no time at all; seed \(seed)")
        #expect(await client.call("token.get", #"{"account":"uncached"}"#)["source"] == "refreshed", "seed \(seed)")
        #expect(await client.call("account.list").error == nil)
        #expect(await client.call("session.get", #"{"account":"work"}"#)["state"] == "active")
        #expect(world.clock.boot() - start < .seconds(1), "seed \(seed)")
        gate.open()
        #expect(dead.works(await client.answer(to: hanging)), "seed \(seed)")
      }
    }
  }

  @Test func theOneWhoBeganTheExchangeGoesAwayAndItGoesOn() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        let gate = Gate()
        world.network.next("/token", .heldAfter(gate))
        let clients = [try world.client(), try world.client()]
        let requests = clients.map { $0.send("token.get", #"{"account":"work"}"#) }
        await gate.reached()
        for (client, request) in zip(clients, requests) {
          client.cancel(request)
          #expect(await client.answer(to: request).code == 1004, "seed \(seed)")
        }
        gate.open()
        await world.clock.sleep(for: .seconds(1))
        let answer = try await scene.token()
        #expect(answer["source"] == "cache", "seed \(seed): \(answer)")
        #expect(scene.works(answer))
        #expect(scene.refreshes.count == 1)
      }
    }
  }

  @Test func aClientThatDisconnectsCancelsNothing() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        let gone = try world.client()
        let stays = try world.client()
        gone.send("token.get", #"{"account":"work"}"#)
        let waits = stays.send("token.get", #"{"account":"work"}"#)
        gone.disconnect()
        #expect(scene.works(await stays.answer(to: waits)), "seed \(seed)")
        #expect(scene.refreshes.count == 1)
      }
    }
  }

  @Test func aNewSignInIsNotOverwrittenByALateAnswer() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        let gate = Gate()
        world.network.next("/token", .heldAfter(gate))
        let client = try world.client()
        let waiting = client.send("token.get", #"{"account":"work"}"#)
        await gate.reached()
        let again = try await world.signIn("alice", at: scene.provider, again: scene.account)
        #expect(again == scene.account)
        let told = await client.answer(to: waiting)
        #expect(scene.works(told) || told.code == 2004, "seed \(seed): \(told)")
        let before = try await scene.token()
        gate.open()
        await world.clock.sleep(for: .seconds(1))
        #expect(try await scene.token()["fingerprint"] == before["fingerprint"], "seed \(seed)")

        // The grant on the disk is the new one, too.
        try await world.restart()
        let after = try await scene.token()
        #expect(scene.works(after), "seed \(seed): \(after)")
        let spent = try #require(scene.refreshes.last?.refreshToken)
        let grant = try #require(scene.idp.grant(ofToken: spent))
        #expect(grant != scene.grant, "seed \(seed)")
        #expect(scene.idp.endOfGrant(grant) == nil, "seed \(seed)")
        // The token that came too late is nobody's: it was revoked.
        #expect(scene.idp.endOfGrant(scene.grant) == "revoked", "seed \(seed)")
      }
    }
  }

  /// Where a revocation reaches all that this person gave to this client, a token that came too late must not take
  /// the new login with it.
  @Test func aLateAnswersRevocationDoesNotKillTheNewLogin() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        var options = Scene.options
        options.revocationReach = .grant
        let scene = try await Scene.signedIn(
          world, options: options, more: #","refresh":{"reuse":"strict"},"revocationScope":"grant""#)
        await scene.expireUnused()
        let gate = Gate()
        world.network.next("/token", .heldAfter(gate))
        let client = try world.client()
        client.send("token.get", #"{"account":"work"}"#)
        await gate.reached()
        try await world.signIn("alice", at: scene.provider, again: scene.account)
        gate.open()
        await world.clock.sleep(for: .seconds(60))
        await scene.expireUnused()
        let answer = try await scene.token()
        #expect(scene.works(answer), "seed \(seed): \(answer)")
      }
    }
  }

  @Test func aVaultThatIsLockedDuringAnExchangeAnswersNobody() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world, rotation: .none)
        await scene.expireUnused()
        let gate = Gate()
        world.network.next("/token", .heldAfter(gate))
        let client = try world.client()
        let waiting = client.send("token.get", #"{"account":"work"}"#)
        await gate.reached()
        #expect(try await world.client().call("agent.lock").error == nil)
        #expect(await client.answer(to: waiting).code == 1001, "seed \(seed)")
        gate.open()
        await world.clock.sleep(for: .seconds(1))
        #expect(try await scene.token().code == 1001, "seed \(seed)")
        #expect(try await world.client().call("agent.unlock").error == nil)
        #expect(scene.works(try await scene.token()), "seed \(seed)")
      }
    }
  }

  /// Different scopes of one grant: one exchange at a time, whatever is asked.
  @Test func audiencesOfOneGrantTakeTurns() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        let client = try world.client()
        let requests = [
          "", #","scopes":["openid"]"#, #","resource":"https://a.example/""#, #","scopes":["openid","email"]"#,
        ].map { client.send("token.get", #"{"account":"work"\#($0)}"#) }
        for request in requests { #expect(scene.works(await client.answer(to: request)), "seed \(seed)") }
        #expect(scene.refreshes.count == 4, "seed \(seed)")
        #expect(Set(scene.refreshes.map(\.refreshToken)).count == 4, "each was the only one; seed \(seed)")
        #expect(scene.idp.endOfGrant(scene.grant) == nil, "seed \(seed)")
      }
    }
  }

  @Test func forcedRefreshesOfOneMomentShareOneExchange() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        let client = try world.client()
        let requests = (0..<20).map { _ in client.send("token.refresh", #"{"account":"work"}"#) }
        var tokens: Set<String?> = []
        for request in requests { tokens.insert(await client.answer(to: request)["accessToken"]) }
        #expect(tokens.count == 1, "seed \(seed)")
        #expect(scene.refreshes.count == 1, "seed \(seed)")
      }
    }
  }

  @Test func anAgentThatEndsKeepsTheAnswerThatIsOnItsWay() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        let gate = Gate()
        world.network.next("/token", .heldAfter(gate))
        let client = try world.client()
        let waiting = client.send("token.get", #"{"account":"work"}"#)
        await gate.reached()
        #expect(await client.call("agent.shutdown").error == nil)
        #expect(await client.answer(to: waiting).code == 1002, "seed \(seed)")
        gate.open()
        while world.isRunning { await world.clock.sleep(for: Milliseconds(50)) }
        try await world.restart()
        #expect(scene.works(try await scene.token()), "seed \(seed)")
        #expect(scene.idp.endOfGrant(scene.grant) == nil, "seed \(seed)")
      }
    }
  }
}
