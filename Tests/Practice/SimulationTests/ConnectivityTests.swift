import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// The known state of connectivity, and the reaction to a signal that it may have changed.
@Suite struct ConnectivityTests {
  private func connectivity(_ world: SimulatedWorld) async throws -> String {
    let client = try world.client()
    defer { client.disconnect() }
    let told = await client.call("connectivity.get", "{}")
    return "\(told["state"] ?? "?") by \(told["basis"] ?? "?")"
  }

  private func report(_ world: SimulatedWorld, online: Bool) async throws {
    let client = try world.client()
    defer { client.disconnect() }
    _ = await client.call("connectivity.report", #"{"online":\#(online)}"#)
  }

  @Test func exchangeWithoutANetwork_reportsOffline() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      #expect(try await connectivity(world) == "online by exchange")
      world.network.isOnline = false
      await scene.expireUnused()
      #expect(try await scene.token().code == 3001)
      #expect(try await connectivity(world) == "offline by exchange")
    }
  }

  @Test(arguments: [
    Incident.notConnected(.refused), .notConnected(.timedOut), .untrusted(.unknownAuthority), .lostAnswer(.reset),
  ])
  func failureOfOneHost_leavesConnectivityOnline(incident: Incident) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.network.next("/token", incident)
      _ = try await scene.token(method: "token.refresh")
      #expect(try await connectivity(world) == "online by exchange")
    }
  }

  @Test func unknownHostBesideAWorkingProvider_changesNoConnectivity() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let other = try await world.provider("other")
      try await world.signIn("bob", at: other, alias: "home")
      let client = try world.client()
      _ = await client.call("event.subscribe", #"{"types":["connectivity.changed"]}"#)
      world.network.next("/token", .notConnected(.nameNotFound), host: "other.test", times: nil)
      for _ in 1...20 {
        await scene.expireUnused()
        #expect(await client.call("token.get", #"{"account":"home"}"#).code == 3001)
        #expect(try await scene.token()["source"] == "refreshed")
      }
      #expect(client.events.isEmpty)
      #expect(try await connectivity(world) == "online by exchange")
    }
  }

  @Test func unreachableProviders_meanOffline() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let other = try await world.provider("other")
      try await world.signIn("bob", at: other, alias: "home")
      await scene.expireUnused()
      world.network.isOnline = false
      _ = try await scene.token()
      #expect(try await connectivity(world) == "online by exchange")
      let client = try world.client()
      _ = await client.call("token.get", #"{"account":"home"}"#)
      #expect(try await connectivity(world) == "offline by exchange")
    }
  }

  /// A provider on this machine counts only while no other provider was reached, and says nothing of the network.
  @Test func localProvider_decidesConnectivityWhileItIsTheOnlyOne() throws {
    try scenario { world in
      let near = world.makeProvider("near", host: "localhost")
      let client = try world.client()
      let added = await client.call(
        "provider.add", #"{"name":"near","issuer":"https://localhost","clientId":"lanyard-demo"}"#)
      try #require(added.error == nil, "\(added)")
      #expect(try await connectivity(world) == "unknown by none")
      try await world.signIn("bob", at: near, alias: "home")
      #expect(try await connectivity(world) == "online by exchange")

      let scene = try await Scene.signedIn(world)
      world.network.next("/token", .notConnected(.nameNotFound), host: "idp.test")
      await scene.expireUnused()
      _ = try await scene.token()
      #expect(try await connectivity(world) == "offline by exchange")
      #expect(await client.call("token.refresh", #"{"account":"home"}"#)["source"] == "refreshed")
      #expect(try await connectivity(world) == "offline by exchange")
    }
  }

  @Test func connectivityReport_holdsUntilAnExchange() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      try await report(world, online: false)
      #expect(try await connectivity(world) == "offline by report")
      _ = try await scene.token()  // from the cache: no exchange
      #expect(try await connectivity(world) == "offline by report")
      _ = try await scene.token(method: "token.refresh")
      #expect(try await connectivity(world) == "online by exchange")
    }
  }

  @Test func networkChange_resetsConnectivity() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.setOnline(false)
      #expect(try await connectivity(world) == "online by exchange")
      await scene.expireUnused()
      _ = try await scene.token()
      #expect(try await connectivity(world) == "offline by exchange")
      world.setOnline(true)
      #expect(try await connectivity(world) == "unknown by interface")
    }
  }

  @Test func failureBegunInTheOldNetwork_isIgnored() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.network.latency = 2_000...2_000
      world.network.isOnline = false
      async let answer = scene.token()
      await world.clock.sleep(for: Milliseconds(1_000))
      world.setOnline(true)
      #expect(try await answer.code == 3001)
      #expect(try await connectivity(world) == "online by exchange")
    }
  }

  @Test func networkChange_endsThePauseOfAnOfflineAccount() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.network.isOnline = false
      await scene.expireUnused()
      for _ in 1...8 {
        let refused = try await scene.token()
        await world.clock.sleep(for: Milliseconds(refused.retryAfterMs ?? 0))
      }
      #expect(try await scene.token().code == 3001)
      let asked = scene.refreshes.count
      world.setOnline(true)
      await world.clock.sleep(for: .seconds(5))
      #expect(try await scene.token()["accessToken"] != nil)
      #expect(scene.refreshes.count == asked + 1)
    }
  }

  @Test func offlineRevocation_isSentAfterANetworkChange() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let client = try world.client()
      world.network.isOnline = false
      let ended = await client.call(
        "account.signOut", #"{"account":"work","mode":"soft","revocationTimeoutSeconds":0}"#)
      #expect(ended["revocation"] == "queued")
      await world.clock.sleep(for: .seconds(10))
      #expect(try await connectivity(world) == "offline by exchange")
      world.setOnline(true)
      await world.clock.sleep(for: .seconds(5))
      #expect(scene.idp.endOfGrant(scene.grant) == "revoked")
    }
  }

  @Test func answeredRevocation_keepsItsRetryTimeOverNetworkChanges() throws {
    try scenario { world in
      _ = try await Scene.signedIn(world)
      let client = try world.client()
      world.network.next("/revoke", .intercepted(status: 503, fields: [], body: ""), times: nil)
      _ = await client.call("account.signOut", #"{"account":"work","mode":"soft","revocationTimeoutSeconds":3}"#)
      let asked = world.network.count("/revoke")
      for _ in 1...10 {
        world.signals.fire(.networkChanged)
        await world.clock.sleep(for: Milliseconds(100))
      }
      #expect(world.network.count("/revoke") == asked)
    }
  }

  @Test func signalToADeadProcess_hasNoEffect() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.crash()
      world.signals.fire(.networkChanged)
      world.signals.fire(.clockChanged)
      try await world.restart()
      world.sleepMachine(for: .seconds(7200))
      #expect(try await scene.token()["accessToken"] != nil)
    }
  }
}
