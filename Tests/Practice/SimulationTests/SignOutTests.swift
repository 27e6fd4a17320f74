import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Signing out, and the end of the token (docs/sign-out.md, Modes).
@Suite(.tellsItsSeed) struct SignOutTests {
  static let modes = ["soft", "hard", "offline"]

  private static func signOut(_ scene: Scene, _ mode: String) async throws -> SimulatedAnswer {
    let client = try scene.world.client()
    defer { client.disconnect() }
    return await client.call("account.signOut", #"{"account":"\#(scene.account)","mode":"\#(mode)"}"#)
  }

  private static func pending(_ world: SimulatedWorld) async throws -> Int {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call("revocation.list").result?["revocations"]?.arrayValue?.count ?? -1
  }

  /// After any disk fault the account is signed in with a working token, or signed out with a token that dies.
  @Test(arguments: modes, [SimulatedDisk.Death.kill, .powerLoss(seed: 1), .powerLoss(seed: 2)])
  func signOutKilledAtAnyOperation_leavesNoLiveTokenBehind(mode: String, death: SimulatedDisk.Death) throws {
    for step in FaultSteps.asked {
      let comment: Comment = "\(mode), \(death) at \(step)"
      let reached = try SimulatedWorld(seed: UInt64(step)).run { world in
        let scene = try await Scene.signedIn(world)
        let before = world.disk.operations
        world.failDisk(.die(death), at: step)
        let answer = try await Self.signOut(scene, mode)
        let reached = world.disk.operations - before >= step
        try await world.restart()
        let token = try await scene.token()
        if answer.error == nil, !answer.isLost { #expect(token.code == 2003, "\(comment): answered, and not done") }
        if token.code == 2003 {
          // Revoked at once, or by the outbox of the next start.
          await world.clock.sleep(for: .seconds(120))
          #expect(scene.idp.activeRefreshTokens().isEmpty, comment)
          #expect(try await Self.pending(world) == 0, comment)
        } else {
          #expect(scene.works(token), "\(comment): \(token)")
          await scene.expireUnused()
          let later = try await scene.token()
          // A revocation sent before its transaction was durable would show here.
          #expect(scene.works(later), "\(comment): \(later)")
        }
        return reached
      }
      guard reached else { break }
      try #require(step < 300)
    }
  }

  @Test(arguments: modes) func lateAnswerAfterASignOut_isRevokedByTheOutbox(mode: String) throws {
    for seed in Seeds.asked(100) {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        let (client, waiting, gate) = try await scene.heldExchange()
        _ = try await Self.signOut(scene, mode)
        #expect(await client.answer(to: waiting).code == 2003, "seed \(seed)")
        let before = world.network.sent.count
        gate.open()
        await world.clock.sleep(for: .seconds(120))
        #expect(try await scene.token().code == 2003, "seed \(seed)")
        if mode == "offline" {
          // The exchange was on its way before. What it brought waits with the other.
          #expect(world.network.sent.count == before, "seed \(seed)")
          #expect(try await Self.pending(world) == 2, "seed \(seed)")
          _ = try await world.client().call("connectivity.report", #"{"online":true}"#)
          await world.clock.sleep(for: .seconds(120))
        }
        #expect(scene.idp.activeRefreshTokens().isEmpty, "the successor is revoked; seed \(seed)")
        try await world.restart()
        #expect(try await scene.token().code == 2003, "seed \(seed)")
      }
    }
  }

  /// The answer of a refresh came while the disk failed, and is in memory: it holds the only live token.
  @Test(arguments: modes) func unstoredAnswer_isRevokedAtASignOut(mode: String) throws {
    try scenario { world in
      var options = Scene.options
      options.revocationReach = .token
      let scene = try await Scene.signedIn(world, options: options)
      await scene.expireUnused()
      world.failCommit(Journal.staged, with: .full)
      #expect(try await scene.token().code == 5001)
      #expect(scene.idp.activeRefreshTokens() != [scene.firstRefreshToken], "the provider has made the next one")
      _ = try await Self.signOut(scene, mode)
      if mode == "offline" { _ = try await world.client().call("connectivity.report", #"{"online":true}"#) }
      await world.clock.sleep(for: .seconds(120))
      #expect(scene.idp.activeRefreshTokens().isEmpty)
      #expect(try await Self.pending(world) == 0)
    }
  }

  @Test func offlineSignOut_sendsNothingUntilOnline() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.network.isOnline = false
      let before = world.network.sent.count
      let answer = try await Self.signOut(scene, "offline")
      #expect(answer["revocation"] == "queued")
      #expect(world.network.sent.count == before)
      #expect(try await Self.pending(world) == 1)
      try await world.restart()
      #expect(try await scene.token().code == 2003)
      world.network.isOnline = true
      _ = try await world.client().call("connectivity.report", #"{"online":true}"#)
      await world.clock.sleep(for: .seconds(60))
      #expect(scene.idp.activeRefreshTokens().isEmpty)
      #expect(try await Self.pending(world) == 0)
    }
  }

  /// A late revocation ends no new sign-in, under any revocation reach of the provider.
  @Test(arguments: [RevocationReach.token, .family, .grant]) func newSignIn_survivesTheOldRevocation(
    reach: RevocationReach
  ) throws {
    for seed in Seeds.asked(60) {
      try scenario(seed: seed) { world in
        var options = Scene.options
        options.revocationReach = reach
        let scene = try await Scene.signedIn(
          world, options: options, more: #","refresh":{"reuse":"strict"},"revocationScope":"\#(reach.rawValue)""#)
        world.network.next("/revoke", .notConnected(.unreachable), times: 3)
        let answer = try await Self.signOut(scene, "soft")
        #expect(answer["revocation"] == "queued", "seed \(seed): \(answer)")
        let again = try await world.signIn("alice", at: scene.provider, alias: "work")
        #expect(again == scene.account)
        // Days later, after every retry, a restart and a new address.
        for _ in 0..<3 {
          await world.clock.sleep(for: .seconds(86_400))
          _ = try await world.client().call("connectivity.report", #"{"online":true}"#)
          let token = try await scene.token()
          let works = scene.works(token)
          #expect(works, "\(reach), seed \(seed): \(token)")
          try await world.restart()
        }
        if reach != .grant {
          #expect(scene.idp.isActive(refreshToken: scene.firstRefreshToken) == false, "seed \(seed)")
        }
        #expect(try await Self.pending(world) == 0, "seed \(seed)")
      }
    }
  }

  /// A revocation of the whole grant is in flight when the same person signs in again: the new grant comes after it.
  @Test func newSignIn_waitsForARevocationInFlight() throws {
    for seed in Seeds.asked(60) {
      try scenario(seed: seed) { world in
        var options = Scene.options
        options.revocationReach = .grant
        let scene = try await Scene.signedIn(
          world, options: options, more: #","refresh":{"reuse":"strict"},"revocationScope":"grant""#)
        let gate = Gate()
        world.network.next("/revoke", .heldBefore(gate))
        let client = try world.client()
        let signingOut = client.send("account.signOut", #"{"account":"work","mode":"soft"}"#)
        await gate.reached()
        async let again = world.signIn("alice", at: scene.provider, alias: "work")
        await world.clock.sleep(for: .seconds(2))
        gate.open()
        #expect(try await again == scene.account)
        #expect(await client.answer(to: signingOut).code == nil)
        await world.clock.sleep(for: .seconds(3600))
        let token = try await scene.token()
        let works = scene.works(token)
        #expect(works, "seed \(seed): \(token)")
      }
    }
  }

  @Test func supersededRevocation_isReportedAsAbandoned() throws {
    try scenario { world in
      var options = Scene.options
      options.revocationReach = .grant
      let scene = try await Scene.signedIn(
        world, options: options, more: #","refresh":{"reuse":"strict"},"revocationScope":"grant""#)
      let watcher = try world.client()
      _ = await watcher.call("event.subscribe", #"{"types":["revocation.confirmed","revocation.abandoned"]}"#)
      world.network.next("/revoke", .notConnected(.unreachable), times: nil)
      _ = try await Self.signOut(scene, "soft")
      let start = world.clock.boot()
      try await world.signIn("alice", at: scene.provider, alias: "work")
      #expect(world.clock.boot() - start < .seconds(6), "the person must not wait longer")
      #expect(watcher.events.map { $0["type"]?.stringValue } == ["revocation.abandoned"])
      #expect(watcher.events.first?["data", "reason"]?.stringValue == "superseded")
    }
  }

  /// A sign-in does not wait for other people's revocations.
  @Test func signIn_drainsRevocationsOfThatPersonOnly() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      try await world.signIn("bob", at: scene.provider, alias: "home")
      let client = try world.client()
      _ = try await Self.signOut(scene, "offline")
      _ = await client.call("account.signOut", #"{"account":"home","mode":"offline"}"#)
      #expect(try await Self.pending(world) == 2)
      try await world.signIn("alice", at: scene.provider, alias: "work")
      #expect(try await Self.pending(world) == 1)
      #expect(scene.idp.isActive(refreshToken: scene.firstRefreshToken) == false)
      #expect(scene.works(try await scene.token()))
    }
  }

  @Test func abandonedRevocationInFlight_isNotQueuedAgain() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      _ = try await Self.signOut(scene, "offline")
      scene.idp.enqueueFault("/revoke", .status(503))
      let gate = Gate()
      world.network.next("/revoke", .heldAfter(gate))
      let client = try world.client()
      let name = try #require(
        await client.call("revocation.list").result?["revocations"]?.arrayValue?.first?["id"]?.stringValue)
      let retried = client.send("revocation.retry", #"{"revocation":"\#(name)"}"#)
      await gate.reached()
      let given = await client.call("revocation.abandon", #"{"revocation":"\#(name)"}"#)
      #expect(given.error == nil, "\(given)")
      gate.open()
      _ = await client.answer(to: retried)
      await world.clock.sleep(for: .seconds(120))
      #expect(try await Self.pending(world) == 0)
      #expect(world.network.count("/revoke") == 1)
    }
  }

  @Test func revocationAtAnUnavailableProvider_isRetriedAndReported() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let watcher = try world.client()
      _ = await watcher.call("event.subscribe", #"{"types":["revocation.confirmed","revocation.abandoned"]}"#)
      scene.idp.enqueueFault("/revoke", .status(503, count: 2))
      #expect(try await Self.signOut(scene, "soft")["revocation"] == "queued")
      await world.clock.sleep(for: .seconds(3600))
      #expect(scene.idp.activeRefreshTokens().isEmpty)
      #expect(watcher.events.map { $0["type"]?.stringValue } == ["revocation.confirmed"])
    }
  }

  /// A client secret is what such a server wants: once it is configured, the refused token is sent again at once.
  @Test func refusedRevocation_isSentWhenTheProviderIsConfiguredAnew() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      scene.idp.enqueueFault("/revoke", .status(400, #"{"error":"unauthorized_client"}"#))
      let answer = try await Self.signOut(scene, "soft")
      #expect(answer["revocation"] == "refused", "\(answer)")
      #expect(answer["nextAttemptAt"] != nil)
      await world.clock.sleep(for: .seconds(3600))
      #expect(world.network.count("/revoke") == 1)
      let updated = try await world.client().call("provider.update", #"{"provider":"idp","scopes":["openid"]}"#)
      #expect(updated.error == nil, "\(updated)")
      await world.clock.sleep(for: .seconds(10))
      #expect(scene.idp.activeRefreshTokens().isEmpty)
    }
  }

  /// The metadata lists `client_secret_basic` alone, and the client is public.
  @Test func revocationThatWillBeRefused_isAFindingBeforehand() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      func findings() async throws -> [String] {
        let answer = try await world.client().call("agent.diagnose", #"{"askProviders":true}"#)
        return answer.result?["findings"]?.arrayValue?.compactMap { $0["check"]?.stringValue } ?? []
      }
      #expect(try await !findings().contains("revocationRefused"))
      scene.idp.configure { $0.toldAuthenticationMethods = [.basic] }
      #expect(try await findings().contains("revocationRefused"))
    }
  }

  /// Two real servers refuse public clients with 401: it is never reported as revoked.
  @Test func status401AtTheRevocation_isNeverReportedAsRevoked() throws {
    try scenario { world in
      var options = Scene.options
      options.publicClientsMayRevoke = false
      let scene = try await Scene.signedIn(world, options: options)
      let watcher = try world.client()
      _ = await watcher.call("event.subscribe", #"{"types":["revocation.confirmed","revocation.abandoned"]}"#)
      let answer = try await Self.signOut(scene, "hard")
      #expect(answer["revocation"] == "refused", "\(answer)")
      await world.clock.sleep(for: .seconds(20 * 3600))
      #expect(world.network.count("/revoke") == 1, "parked for a day")
      #expect(try await Self.pending(world) == 1)
      await world.clock.sleep(for: .seconds(31 * 86_400))
      #expect(watcher.events.map { $0["type"]?.stringValue } == ["revocation.abandoned"])
      #expect(try await Self.pending(world) == 0)
    }
  }

  /// A program that asks for a token while the account is signed out gets it, or is told so.
  @Test func tokenRequestBesideASignOut_isNotToldThatTheVaultIsLocked() throws {
    for seed in Seeds.asked(300) {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        let clients = try (0..<4).map { _ in try world.client() }
        let asked = clients.map { ($0, $0.send("token.refresh", #"{"account":"\#(scene.account)"}"#)) }
        _ = try await Self.signOut(scene, "soft")
        for (client, id) in asked {
          let answer = await client.answer(to: id)
          #expect(answer.error == nil || answer.code == 2003, "seed \(seed): \(answer)")
        }
      }
    }
  }

  /// The provider told a short lifetime and has not answered the revocation: it is tried for a month, and says so.
  @Test func revocationWithoutAnAnswer_tellsWhenItIsReallyGivenUp() throws {
    try scenario { world in
      let scene = try await Self.shortLived(world)
      world.network.next("/revoke", .notConnected(.unreachable), times: nil)
      #expect(try await Self.signOut(scene, "soft")["revocation"] == "queued")
      await world.clock.sleep(for: .seconds(7200))
      let entry = try await world.client().call("revocation.list").result?["revocations"]?.arrayValue?.first
      // The world begins on 1 January 2030.
      #expect(entry?["expiresAt"]?.stringValue?.hasPrefix("2030-01-31") == true, "\(String(describing: entry))")
    }
  }

  /// The provider answered once, so that the lifetime that it told counts, also while it is out of reach later.
  @Test func revocationThatWasAnsweredOnce_endsWithTheLifetime() throws {
    try scenario { world in
      let scene = try await Self.shortLived(world)
      let watcher = try world.client()
      _ = await watcher.call("event.subscribe", #"{"types":["revocation.confirmed","revocation.abandoned"]}"#)
      scene.idp.enqueueFault("/revoke", .status(503))
      #expect(try await Self.signOut(scene, "soft")["revocation"] == "queued")
      world.network.next("/revoke", .notConnected(.unreachable), times: nil)
      await world.clock.sleep(for: .seconds(86_400))
      #expect(watcher.events.map { $0["type"]?.stringValue } == ["revocation.abandoned"])
    }
  }

  /// Its refresh tokens live for ten minutes, as the provider tells.
  private static func shortLived(_ world: SimulatedWorld) async throws -> Scene {
    var options = Scene.options
    options.refreshTokenLifetimeSeconds = 600
    options.tellsRefreshTokenLifetime = true
    return try await Scene.signedIn(world, options: options)
  }
}
