import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// Where the provider's revocation reaches one token only, the agent revokes access tokens separately (RFC 7009 §2.1).
@Suite struct AccessTokenRevocationTests {
  private static func scene(_ world: SimulatedWorld, told: String) async throws -> Scene {
    var options = Scene.options
    options.revocationReach = .token
    return try await Scene.signedIn(
      world, options: options, more: #","refresh":{"reuse":"strict"},"revocationScope":"\#(told)""#)
  }

  private static func leave(_ scene: Scene, _ mode: String) async throws -> SimulatedAnswer {
    let client = try scene.world.client()
    defer { client.disconnect() }
    return await client.call("account.signOut", #"{"account":"work","mode":"\#(mode)"}"#)
  }

  @Test(arguments: ["soft", "hard"]) func signOut_revokesEveryAccessToken(mode: String) throws {
    try scenario { world in
      let scene = try await Self.scene(world, told: "token")
      let whole = try #require(try await scene.token()["accessToken"])
      let narrow = try #require(try await scene.token(#","scopes":["email"]"#)["accessToken"])
      #expect(try await Self.leave(scene, mode)["revocation"] == "confirmed")
      await world.clock.sleep(for: .seconds(1))
      #expect(!scene.idp.isActive(accessToken: whole) && !scene.idp.isActive(accessToken: narrow))
      #expect(scene.idp.activeRefreshTokens().isEmpty)
      let client = try world.client()
      #expect(await client.call("revocation.list").json["result", "revocations"]?.arrayValue?.isEmpty == true)
    }
  }

  /// Queued without a request, and kept over a restart.
  @Test func offlineSignOut_queuesAccessTokens() throws {
    try scenario { world in
      let scene = try await Self.scene(world, told: "token")
      let token = try #require(try await scene.token()["accessToken"])
      let before = world.network.sent.count
      #expect(try await Self.leave(scene, "offline")["revocation"] == "queued")
      #expect(world.network.sent.count == before)
      try await world.restart()
      let client = try world.client()
      _ = await client.call("connectivity.report", #"{"online":true}"#)
      await world.clock.sleep(for: .seconds(60))
      #expect(!scene.idp.isActive(accessToken: token) && scene.idp.activeRefreshTokens().isEmpty)
    }
  }

  /// At other providers the refresh token's revocation ends the access tokens, so they are not sent.
  @Test func signOutWithFamilyRevocation_sendsNoAccessToken() throws {
    try scenario { world in
      let scene = try await Self.scene(world, told: "family")
      _ = try await scene.token()
      #expect(try await Self.leave(scene, "soft")["revocation"] == "confirmed")
      await world.clock.sleep(for: .seconds(60))
      #expect(world.network.count("/revoke") == 1)
    }
  }
}
