import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Signing in again without signing out: the refresh token of the replaced grant is revoked (docs/sign-out.md, Outbox).
@Suite(.tellsItsSeed) struct ReplacedTokenTests {
  private static func signedIn(_ world: SimulatedWorld, _ reach: RevocationReach) async throws -> Scene {
    var options = Scene.options
    options.revocationReach = reach
    return try await Scene.signedIn(
      world, options: options, more: #","refresh":{"reuse":"strict"},"revocationScope":"\#(reach.rawValue)""#)
  }

  private static func signOut(_ world: SimulatedWorld, _ mode: String = "soft") async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call("account.signOut", #"{"account":"work","mode":"\#(mode)"}"#)
  }

  @Test(arguments: [RevocationReach.token, .family])
  func replacedRefreshToken_isRevoked_andTheNewGrantLives(reach: RevocationReach) throws {
    for seed in Seeds.asked(30) {
      try scenario(seed: seed) { world in
        let scene = try await Self.signedIn(world, reach)
        #expect(try await world.signIn("alice", at: scene.provider, alias: "work") == scene.account)
        await world.clock.sleep(for: .seconds(10))
        #expect(!scene.idp.isActive(refreshToken: scene.firstRefreshToken), "seed \(seed)")
        #expect(scene.works(try await scene.token(method: "token.refresh")), "seed \(seed)")
        #expect(try await Self.signOut(world)["revocation"] == "confirmed", "seed \(seed)")
        #expect(scene.idp.activeRefreshTokens().isEmpty, "seed \(seed)")
      }
    }
  }

  /// Its revocation would end the new grant, too.
  @Test func replacedRefreshToken_isNotSentWhereARevocationEndsWholeGrants() throws {
    try scenario { world in
      let scene = try await Self.signedIn(world, .grant)
      try await world.signIn("alice", at: scene.provider, alias: "work")
      await world.clock.sleep(for: .seconds(3600))
      #expect(world.network.count("/revoke") == 0)
      #expect(scene.works(try await scene.token(method: "token.refresh")))
    }
  }

  /// The answer to the second sign-in has the same refresh token, and that one is still in use.
  @Test func refreshTokenThatComesAgain_isNotRevoked() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, rotation: .none)
      scene.idp.enqueueFault(
        "/token", Fault(.changeAnswer(["refresh_token": .string(scene.firstRefreshToken)])))
      try await world.signIn("alice", at: scene.provider, alias: "work")
      await world.clock.sleep(for: .seconds(3600))
      #expect(world.network.count("/revoke") == 0)
      #expect(scene.idp.isActive(refreshToken: scene.firstRefreshToken))
    }
  }

  /// A sign-out tries the replaced token again, and says `confirmed` only if no token of the account lives.
  @Test(arguments: [1, 2, 3]) func signOut_isConfirmedOnlyIfTheReplacedTokenIsDeadToo(failures: Int) throws {
    for seed in Seeds.asked(30) {
      try scenario(seed: seed) { world in
        let scene = try await Self.signedIn(world, .family)
        world.network.next("/revoke", .notConnected(.unreachable), times: failures)
        try await world.signIn("alice", at: scene.provider, alias: "work")
        await world.clock.sleep(for: .seconds(1))
        #expect(scene.idp.isActive(refreshToken: scene.firstRefreshToken), "seed \(seed)")
        let answer = try await Self.signOut(world)
        let isDead = scene.idp.activeRefreshTokens().isEmpty
        #expect(answer["revocation"] == (isDead ? "confirmed" : "queued"), "seed \(seed): \(answer)")
        #expect(isDead == (failures == 1), "seed \(seed)")
        await world.clock.sleep(for: .seconds(600))
        #expect(scene.idp.activeRefreshTokens().isEmpty, "seed \(seed)")
      }
    }
  }

  /// The disk failed while a refresh was answered: the successor is in memory alone when the person signs in again.
  @Test func unstoredAnswerOfTheReplacedGrant_isRevoked() throws {
    try scenario { world in
      let scene = try await Self.signedIn(world, .token)
      await scene.expireUnused()
      world.failCommit(Journal.staged, with: .full)
      #expect(try await scene.token().code == 5001)
      let held = try #require(scene.idp.activeRefreshTokens().first)
      #expect(held != scene.firstRefreshToken)
      try await world.signIn("alice", at: scene.provider, alias: "work")
      await world.clock.sleep(for: .seconds(60))
      #expect(!scene.idp.isActive(refreshToken: held))
      #expect(scene.works(try await scene.token(method: "token.refresh")))
    }
  }

  /// Killed at any commit of the second sign-in: the first token is in use, waits for its revocation, or is dead.
  @Test func secondSignInKilledAtEveryCommit_forgetsNoRefreshToken() throws {
    for number in 1... {
      var hasDied = false
      for moment in [CommitMoment.before(number), .after(number)] {
        hasDied = try SimulatedWorld(seed: UInt64(number)).run { world in
          let scene = try await Self.signedIn(world, .family)
          world.crash(at: moment)
          _ = try? await world.signIn("alice", at: scene.provider, alias: "work")
          await world.clock.sleep(for: .seconds(2))
          let hasDied = !world.isRunning
          try await world.restart()
          #expect(scene.works(try await scene.token(method: "token.refresh")), "\(moment)")
          _ = try await Self.signOut(world)
          await world.clock.sleep(for: .seconds(600))
          #expect(scene.idp.endOfGrant(scene.grant) != nil, "\(moment)")
          return hasDied
        }
      }
      guard hasDied else { break }
      try #require(number < 30)
    }
  }
}
