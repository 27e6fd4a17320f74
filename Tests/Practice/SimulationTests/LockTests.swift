import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// A vault that is locked while a provider answers: a spent token must not be lost with the keys.
@Suite(.tellsItsSeed) struct LockTests {
  static let seeds = Seeds.asked(100)

  private static func call(_ world: SimulatedWorld, _ method: String) async throws {
    let client = try world.client()
    defer { client.disconnect() }
    let answer = await client.call(method)
    #expect(answer.error == nil, "\(answer)")
  }

  @Test func answerToALockedAgent_isAppliedAfterTheUnlock() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        let (client, waiting, gate) = try await scene.heldExchange()
        try await Self.call(world, "agent.lock")
        #expect(await client.answer(to: waiting).code == 1001, "seed \(seed)")
        gate.open()
        await world.clock.sleep(for: .seconds(1))
        #expect(try await scene.token().code == 1001, "seed \(seed)")
        try await Self.call(world, "agent.unlock")
        let answer = try await scene.token()
        #expect(scene.works(answer), "seed \(seed): \(answer)")
        #expect(scene.refreshes.count == 1, "seed \(seed)")
        try await world.restart()
        #expect(scene.works(try await scene.token()), "seed \(seed)")
        #expect(scene.idp.endOfGrant(scene.grant) == nil, "seed \(seed)")
      }
    }
  }

  @Test func exchangeThatOutlastsTheLock_isJoinedAfterTheUnlock() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        let (client, _, gate) = try await scene.heldExchange()
        try await Self.call(world, "agent.lock")
        try await Self.call(world, "agent.unlock")
        let joined = client.send("token.get", #"{"account":"work"}"#)
        #expect(try await scene.token(#","timeoutSeconds":1"#).code == 1006, "seed \(seed)")
        gate.open()
        let answer = await client.answer(to: joined)
        #expect(scene.works(answer), "seed \(seed): \(answer)")
        #expect(scene.refreshes.count == 1, "seed \(seed)")
        try await world.restart()
        #expect(scene.works(try await scene.token()), "seed \(seed)")
        #expect(scene.idp.endOfGrant(scene.grant) == nil, "seed \(seed)")
      }
    }
  }

  @Test func refusalToALockedAgent_isNoUnknownOutcome() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      scene.idp.enqueueFault("/token", .status(503))
      let gate = try await scene.heldExchange().gate
      try await Self.call(world, "agent.lock")
      gate.open()
      await world.clock.sleep(for: .seconds(1))
      try await Self.call(world, "agent.unlock")
      #expect(try await scene.token().code == 3002)
      await world.clock.sleep(for: .seconds(5))
      #expect(scene.works(try await scene.token()))
    }
  }

  /// An answer older than the stored grant must not be staged over it.
  @Test func lateAnswer_isNotStagedOverANewerGrant() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world, rotation: .grace(seconds: 300))
        await scene.expireUnused()
        let (client, _, gate) = try await scene.heldExchange()
        try await Self.call(world, "agent.lock")
        try await Self.call(world, "agent.unlock")
        let first = client.send("token.refresh", #"{"account":"work"}"#)
        await world.clock.sleep(for: .seconds(2))
        let second = client.send("token.refresh", #"{"account":"work"}"#)
        await world.clock.sleep(for: .seconds(2))
        gate.open()
        _ = await (client.answer(to: first), client.answer(to: second))
        await world.clock.sleep(for: .seconds(2))
        try await world.restart()
        await scene.expireUnused()
        #expect(scene.works(try await scene.token()), "seed \(seed)")
        await scene.expireUnused()
        #expect(scene.works(try await scene.token()), "seed \(seed)")
        #expect(scene.idp.endOfGrant(scene.grant) == nil, "seed \(seed)")
      }
    }
  }

  /// Locks and unlocks at any moment of a refresh.
  @Test(arguments: [RefreshTokenRotation.strict, .grace(seconds: 120), .none])
  func lockAtAnyMomentOfARefresh_losesNoToken(rotation: RefreshTokenRotation) throws {
    for seed in Seeds.asked(250) {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world, rotation: rotation)
        await scene.expireUnused()
        let chance = SeededEntropy(seed: seed &* 977)
        let client = try world.client()
        for _ in 0..<4 {
          client.send("token.refresh", #"{"account":"work"}"#)
          await world.clock.sleep(for: Milliseconds(chance.number(in: 0...90)))
          try await Self.call(world, "agent.lock")
          await world.clock.sleep(for: Milliseconds(chance.number(in: 0...90)))
          try await Self.call(world, "agent.unlock")
        }
        let answer = try await scene.token()
        #expect(scene.works(answer), "seed \(seed): \(answer)")
        await scene.expireUnused()
        #expect(scene.works(try await scene.token()), "seed \(seed)")
        try await world.restart()
        #expect(scene.works(try await scene.token()), "seed \(seed)")
        #expect(scene.idp.endOfGrant(scene.grant) == nil, "seed \(seed)")
      }
    }
  }
}

/// A sign-in overtakes an exchange, and the late answer comes to a locked agent.
@Suite(.tellsItsSeed) struct OvertakenAnswerTests {
  @Test func overtakenAnswerToALockedAgent_isRevokedAndTheNewGrantWorks() throws {
    for seed in Seeds.asked(300) {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        let gate = Gate()
        world.network.next("/token", .heldAfter(gate))
        let client = try world.client()
        let forced = client.send("token.refresh", #"{"account":"work"}"#)
        await world.clock.sleep(for: .seconds(1))
        try await world.signIn("alice", at: scene.provider, again: scene.account)
        #expect(await client.answer(to: forced).error == nil, "the waiting caller gets the new grant's token")
        #expect(await client.call("agent.lock").error == nil)
        gate.open()
        await world.clock.sleep(for: .seconds(1))
        #expect(await client.call("agent.unlock").error == nil)
        for _ in 0..<3 {
          let answer = await client.call("token.refresh", #"{"account":"work"}"#)
          #expect(scene.works(answer), "seed \(seed): \(answer)")
        }
        await world.clock.sleep(for: .seconds(60))
        #expect(scene.idp.activeRefreshTokens().count == 1, "seed \(seed): the successor that came late is dead")
        #expect(await client.call("revocation.list").json["result", "revocations"]?.arrayValue?.isEmpty == true)
      }
    }
  }
}

/// Requests other than for tokens that wait when the lock comes.
@Suite(.tellsItsSeed) struct WaitingAtTheLockTests {
  @Test func snapshotRequestAtTheLock_isAnsweredAsLocked() throws {
    try scenario { world in
      let more = #","refresh":{"reuse":"strict"},"authorization":{"entitlementsUrl":"https://idp.test/entitlements"}"#
      let scene = try await Scene.signedIn(world, more: more)
      await world.clock.sleep(for: .seconds(1))
      let gate = Gate()
      world.network.next("/entitlements", .heldAfter(gate))
      let client = try world.client()
      let waiting = client.send("snapshot.refresh", #"{"account":"work"}"#)
      await gate.reached()
      #expect(await client.call("agent.lock").error == nil)
      #expect(await client.answer(to: waiting).code == 1001)
      gate.open()
      #expect(await client.call("agent.unlock").error == nil)
      #expect(scene.works(try await scene.token()))
      #expect(await client.call("snapshot.refresh", #"{"account":"work"}"#).error == nil)
    }
  }

  /// The revocation is sent again after the unlock, and reported once.
  @Test func revocationConfirmedWhileLocked_isReportedOnce() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let client = try world.client()
      _ = await client.call("event.subscribe", #"{"types":["revocation.confirmed"]}"#)
      let gate = Gate()
      world.network.next("/revoke", .heldAfter(gate))
      client.send("account.signOut", #"{"account":"work","mode":"hard","revocationTimeoutSeconds":0}"#)
      await gate.reached()
      #expect(await client.call("agent.lock").error == nil)
      gate.open()
      await world.clock.sleep(for: .seconds(1))
      #expect(await client.call("agent.unlock").error == nil)
      await world.clock.sleep(for: .seconds(1))
      #expect(client.takeLines().count { $0.contains(#""type":"revocation.confirmed""#) } == 1)
      #expect(scene.idp.activeRefreshTokens().isEmpty)
      #expect(await client.call("revocation.list").json["result", "revocations"]?.arrayValue?.isEmpty == true)
    }
  }
}
