import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// No connection to the provider, or another server in its place: the session is kept, and no sign-in is asked for.
@Suite(.tellsItsSeed) struct NetworkScenarios {
  @Test func unreachableProvider_backsOffAndKeepsTheSession() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      let failure = chance.one(of: [ConnectFailure.nameNotFound, .refused, .unreachable, .timedOut])
      world.network.next("/token", .notConnected(failure), times: nil)
      var sent = 0
      for attempt in 1...chance.number(2...8) {
        let crowd = try Crowd(world, clients: 2)
        // From two thirds of a ceiling up to it; it grows fourfold, from 1 s to 10 min.
        let ceiling = min(Int64(600_000), 1000 << Int64(2 * (attempt - 1)))
        let answers = await crowd.answers(crowd.ask(chance.number(1...4)))
        for answer in answers { answer.isExpected(3001, account: scene.account, pause: 1...ceiling) }
        #expect(scene.refreshes.count <= attempt)
        sent = scene.refreshes.count
        let pause = try #require(answers.compactMap(\.retryAfterMs).max())
        // Until then no request is sent, for any caller.
        if pause > 20 {
          await world.clock.sleep(for: Milliseconds(pause - 10))
          try await scene.token(method: "token.refresh").isExpected(3001, account: scene.account)
          #expect(scene.refreshes.count == sent)
        }
        await world.clock.sleep(for: Milliseconds(20))
      }
      let session = try await scene.session()
      #expect(session["state"] == "offlineStale", "\(session)")
      #expect(session.json["result", "refresh", "lastError", "name"]?.stringValue == "offline")
      #expect(Set(scene.refreshes.map(\.refreshToken)) == [scene.firstRefreshToken])

      world.network.clearIncidents()
      _ = try await world.client().call("connectivity.report", #"{"online":true}"#)
      #expect(scene.works(try await scene.token()), "the next caller is not held back")
      #expect(try await scene.session()["state"] == "active")
      #expect(witness.expiries == [])
      #expect(witness.states == ["offlineStale", "active"])
      try await scene.livesOn()
    }
  }

  /// Offline for minutes or days: cached until the token expires, then reported as offline, and back without a sign-in.
  @Test func tokenExpiringOffline_recoversWithoutASignIn() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      let witness = try await Witness.at(world)
      await world.clock.sleep(for: chance.seconds(0...3000))
      world.network.isOnline = false
      let cached = try await scene.token()
      #expect(cached["source"] == "cache")
      // The last minutes of the token: an exchange is tried and fails without harm.
      let now = try await scene.expiry()
      await world.clock.sleep(
        until: BootInstant(milliseconds: now.milliseconds - chance.milliseconds(2000...290_000).count))
      for _ in 0..<chance.number(1...3) {
        let stale = try await scene.token(#","minimumLifetimeSeconds":0"#)
        #expect(stale["accessToken"] == cached["accessToken"], "\(stale)")
        await world.clock.sleep(for: chance.milliseconds(0...500))
      }
      await world.clock.sleep(until: now)
      for _ in 0..<chance.number(1...12) {
        try await scene.token().isExpected(3001, account: scene.account, pause: 1...600_000)
        await world.clock.sleep(for: chance.seconds(1...7200))
      }
      #expect(try await scene.session()["state"] == "offlineStale")
      #expect(scene.idp.requestCount(to: "/token") == 1, "only the sign-in came there")

      world.network.isOnline = true
      _ = try await world.client().call("connectivity.report", #"{"online":true}"#)
      let crowd = try Crowd(world, clients: 2)
      for answer in await crowd.answers(crowd.ask(chance.number(1...5))) { #expect(scene.works(answer), "\(answer)") }
      #expect(scene.idp.requestCount(to: "/token") == 2)
      #expect(witness.expiries == [])
      try await scene.livesOn()
    }
  }

  @Test func captivePortal_keepsTheSession() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: chance.one(of: CallerScenarios.rotations))
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      let portal = chance.one(of: Self.portals)
      world.network.next("/token", portal, times: nil)
      for _ in 0..<chance.number(1...6) {
        let answer = try await scene.token()
        answer.isExpected(3002, account: scene.account, pause: 1...600_000)
        await world.clock.sleep(for: Milliseconds((answer.retryAfterMs ?? 0) + 1))
      }
      #expect(try await scene.session()["state"] == "active")
      #expect(witness.expiries == [])
      #expect(scene.idp.requestCount(to: "/token") == 1)
      world.network.clearIncidents()
      if chance.coin() { try await world.restart() }
      await world.clock.sleep(for: .seconds(301))
      let answer = try await scene.token()
      #expect(scene.works(answer), "\(answer)")
      try await scene.livesOn()
    }
  }

  private static let page = "<!doctype html><title>Guest network</title><p>Accept the terms."
  /// A page in place of the response, a redirect to one, and the status of RFC 6585 §6.
  private static let portals: [Incident] = [
    .intercepted(status: 200, fields: [("Content-Type", "text/html")], body: page),
    .intercepted(status: 302, fields: [("Location", "http://guest.example/")], body: ""),
    .intercepted(status: 307, fields: [("Location", "http://guest.example/")], body: page),
    .intercepted(status: 511, fields: [("Content-Type", "text/html")], body: page),
  ]

  /// A refresh uses the metadata read before, and does not need to read it now.
  @Test func missingMetadata_doesNotPreventARefresh() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: chance.one(of: CallerScenarios.rotations))
      let fault = chance.one(of: [
        Fault.status(404, "not found", count: nil), .status(500, "", count: nil), Fault(.notJSON, count: nil),
        Fault(.hangBeforeProcessing, count: nil),
      ])
      for path in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server", "/jwks"] {
        scene.idp.enqueueFault(path, fault)
      }
      for _ in 0..<2 {
        await scene.expireUnused()
        let start = world.clock.boot()
        let answer = try await scene.token()
        #expect(scene.works(answer), "\(answer)")
        #expect(answer["source"] == "refreshed")
        #expect(world.clock.boot() - start < .seconds(1), "no wait")
        if chance.coin() { try await world.restart() }
      }
      #expect(scene.refreshes.count == 2)
      try await scene.livesOn()
    }
  }
}
