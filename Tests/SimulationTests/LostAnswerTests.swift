import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// Requests whose answer never comes, and connections that are never made (DESIGN, Tokens: Unknown outcome).
@Suite struct LostAnswerTests {
  @Test func strictServesTheTokenUntilItExpiresThenAsksForThePerson() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let watcher = try world.client()
      _ = await watcher.call("event.subscribe", #"{"types":["session.expired","session.stateChanged"]}"#)
      await world.clock.sleep(for: .seconds(3310))
      world.network.next("/token", .lostAnswer(.timedOut))
      // Stale: answered from memory, and one exchange begins that nobody waits for.
      #expect(try await scene.token(#","minimumLifetimeSeconds":1"#)["source"] == "cache")
      await world.clock.sleep(for: .seconds(35))
      #expect(scene.refreshes.count == 1)

      let stale = try await scene.token(#","minimumLifetimeSeconds":1"#)
      #expect(scene.works(stale), "\(stale)")
      #expect(stale["source"] == "staleOk" || stale["source"] == "cache")
      await world.clock.sleep(for: .seconds(260))

      for _ in 0..<2 {
        let answer = try await scene.token()
        #expect(answer.code == 2004, "\(answer)")
        #expect(answer.reason == "outcomeUnknown")
        #expect(answer.json["error", "data", "remedies"]?.arrayValue?.first?.stringValue == "reauthenticate")
        #expect(try await scene.token(method: "token.refresh").code == 2004)
        try await world.restart()  // and it is remembered
      }
      #expect(scene.refreshes.count == 1, "never by itself")
      let expired = watcher.events.filter { $0["type"]?.stringValue == "session.expired" }
      #expect(expired.count == 1, "told once")
      #expect(expired.first?["data", "reason"]?.stringValue == "outcomeUnknown")

      try await world.signIn("alice", at: scene.provider, again: scene.account)
      #expect(scene.works(try await scene.token()))
    }
  }

  @Test func graceReplaysOnceAndNoMore() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, rotation: .grace(seconds: 120))
      await scene.expireUnused()
      world.network.next("/token", .lostAnswer(.timedOut))
      let answer = try await scene.token()
      #expect(answer["source"] == "refreshed")
      #expect(scene.works(answer))
      #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken, scene.firstRefreshToken])
      #expect(scene.refreshes[1].at - scene.refreshes[0].at <= .seconds(60), "within half of the grace")

      await scene.expireUnused()
      world.network.next("/token", .lostAnswer(.reset), times: 2)
      let second = try await scene.token()
      #expect(second.code == 2004, "\(second)")
      #expect(second.reason == "outcomeUnknown")
      #expect(scene.refreshes.count == 4)
      #expect(try await scene.token().code == 2004)
      #expect(scene.refreshes.count == 4, "there is no second replay")
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  /// The right to a replay outlives a connection that could not be made, and only so long.
  @Test func aReplayThatFoundNoConnectionIsTriedAgainWithinTheGrace() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, rotation: .grace(seconds: 120))
      await scene.expireUnused()
      world.network.next("/token", .lostAnswer(.reset))
      world.network.next("/token", .notConnected(.refused))
      #expect(try await scene.token().code == 3001)
      await world.clock.sleep(for: .seconds(5))
      let answer = try await scene.token()
      #expect(scene.works(answer), "\(answer)")
      #expect(scene.refreshes.count == 3)
    }
  }

  @Test func withoutRotationTheRequestIsSimplyRepeated() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, rotation: .none)
      await scene.expireUnused()
      world.network.next("/token", .lostAnswer(.reset))
      let answer = try await scene.token()
      #expect(answer.code == 3002, "\(answer)")
      #expect(answer.json["error", "data", "retryable"]?.boolValue == true)
      await world.clock.sleep(for: .seconds(2))
      #expect(scene.works(try await scene.token()))
      #expect(scene.refreshes.count == 2)
    }
  }

  @Test func theOwnersExplicitChoiceReplaysOnceOnAStrictProvider() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(
        world, more: #","refresh":{"reuse":"strict","onUnknownOutcome":"replayOnce"}"#)
      await scene.expireUnused()
      world.network.next("/token", .lostRequest(.reset))
      #expect(scene.works(try await scene.token()))
      #expect(scene.refreshes.count == 2)
    }
  }

  @Test func aNameThatIsNotFoundIsOfflineAndTheSessionIsKept() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.network.isOnline = false
      var pauses: [Int64] = []
      for _ in 0..<12 {
        let answer = try await scene.token()
        #expect(answer.code == 3001, "\(answer)")
        let pause = try #require(answer.retryAfterMs)
        pauses.append(pause)
        await world.clock.sleep(for: Milliseconds(pause))
      }
      #expect(pauses.allSatisfy { (1...300_000).contains($0) })
      #expect((pauses.max() ?? 0) > 4000, "the pauses grow")
      #expect(scene.refreshes.count <= 12)
      let session = try await scene.session()
      #expect(session["state"] == "offlineStale")
      #expect(session.json["result", "refresh", "lastError", "name"]?.stringValue == "offline")

      world.network.isOnline = true
      let reported = try await world.client().call("connectivity.report", #"{"online":true}"#)
      #expect(reported["state"] == "online")
      #expect(scene.works(try await scene.token()), "whoever asks next is not held back")
      #expect(try await scene.session()["state"] == "active")
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  @Test func duringAPauseNobodyIsAsked() throws {
    try scenario(seed: 5) { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.network.next("/token", .notConnected(.unreachable), times: nil)
      let first = try await scene.token()
      let pause = try #require(first.retryAfterMs)
      if pause > 10 { await world.clock.sleep(for: Milliseconds(pause / 2)) }
      #expect(try await scene.token().code == 3001)
      #expect(scene.refreshes.count == 1)
    }
  }

  @Test func aServerThatCanNotBeTrustedIsToldAndNothingIsSpent() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.network.next("/token", .untrusted)
      #expect(try await scene.token().code == 3004)
      await world.clock.sleep(for: .seconds(2))
      #expect(scene.works(try await scene.token()))
    }
  }

  /// A request that a caller's own patience did not outlast goes on, and its answer is there for the next one.
  @Test func aCallersTimeoutEndsNoExchange() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.network.next("/token", .delay(.seconds(5)))
      let answer = try await scene.token(#","timeoutSeconds":1"#)
      #expect(answer.code == 1006, "\(answer)")
      await world.clock.sleep(for: .seconds(5))
      #expect(try await scene.token()["source"] == "cache")
      #expect(scene.refreshes.count == 1)
    }
  }
}
