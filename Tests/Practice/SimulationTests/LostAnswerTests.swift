import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Requests without an answer, and failed connections (docs/tokens.md, Unknown outcome): the rules one by one. The same
/// in many seeds is in `UnknownOutcomeScenarios` and `NetworkScenarios`.
@Suite struct LostAnswerTests {
  @Test func lostAnswerWithinTheGrace_isReplayedOnce() throws {
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

  /// The agent ends while it connects: the refresh token never left, so nothing is in doubt.
  @Test func deathBeforeTheConnectionStands_losesNoSession() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      _ = try await scene.heldExchange(by: Incident.heldWhileConnecting)
      try await world.restart()
      #expect(scene.refreshes.isEmpty)
      let answer = try await scene.token()
      #expect(scene.works(answer), "\(answer)")
      try await scene.livesOn()
    }
  }

  /// Without a connection nothing is written: no intent, and nothing to settle.
  @Test(arguments: [Incident.notConnected(.nameNotFound), .notConnected(.refused), .untrusted(.unknownAuthority)])
  func refreshWithoutAConnection_writesNothing(incident: Incident) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.network.next("/token", incident)
      let before = world.disk.operations
      #expect([3001, 3004].contains(try await scene.token().code))
      #expect(world.disk.operations == before)
    }
  }

  /// The account is signed out while the connection is made: its refresh token does not leave but for the revocation.
  @Test func signOutWhileConnecting_sendsNoRefresh() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      let (client, asked, gate) = try await scene.heldExchange(by: Incident.heldWhileConnecting)
      let other = try world.client()
      #expect(await other.call("account.signOut", #"{"account":"\#(scene.account)","mode":"soft"}"#).error == nil)
      gate.open()
      #expect(await client.answer(to: asked).code == 2003)
      await world.clock.sleep(for: .seconds(60))
      #expect(scene.refreshes.isEmpty)
      #expect(scene.idp.endOfGrant(scene.grant) == "revoked")
    }
  }

  /// The right to replay survives a failed connection, within the grace.
  @Test func replayWithoutAConnection_isRetriedWithinTheGrace() throws {
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

  @Test func replayOnceRule_replaysOnceAtAStrictProvider() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(
        world, more: #","refresh":{"reuse":"strict","onUnknownOutcome":"replayOnce"}"#)
      await scene.expireUnused()
      world.network.next("/token", .lostRequest(.reset))
      #expect(scene.works(try await scene.token()))
      #expect(scene.refreshes.count == 2)
    }
  }

  @Test func untrustedServer_isReportedAndSpendsNoToken() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.network.next("/token", .untrusted(.unknownAuthority))
      #expect(try await scene.token().code == 3004)
      await world.clock.sleep(for: .seconds(2))
      #expect(scene.works(try await scene.token()))
    }
  }

  /// A caller's timeout does not end the exchange: its answer serves the next caller.
  @Test func callerTimeout_doesNotEndTheExchange() throws {
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
