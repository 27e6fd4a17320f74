import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// A hard sign-out erases whose account it is (docs/sign-out.md, Modes).
@Suite(.tellsItsSeed) struct ErasedIdentityTests {
  private static let names = ["alice", "Alice", "acme", #""work""#]

  private func call(_ world: SimulatedWorld, _ method: String, _ params: String = "{}") async throws -> SimulatedAnswer
  {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call(method, params)
  }

  /// All that a client can ask of the account, with a revocation that waits.
  private func expectNothingReadable(_ world: SimulatedWorld, _ account: String) async throws {
    for (method, params) in [
      ("account.list", "{}"), ("account.get", #"{"account":"\#(account)"}"#),
      ("session.get", #"{"account":"\#(account)"}"#), ("revocation.list", "{}"), ("agent.status", "{}"),
      ("agent.diagnose", "{}"), ("audit.list", #"{"limit":1000}"#),
    ] {
      let answer = try await call(world, method, params)
      #expect(answer.error == nil, "\(method): \(answer)")
      let line = try #require(answer.line)
      for name in Self.names { #expect(!line.contains(name), "\(name) in \(method): \(line)") }
    }
  }

  /// `isSoftBefore`: a soft sign-out came first, whose revocation waits under the account's name.
  @Test(arguments: [false, true]) func erasedAccount_hasNothingReadable_andIsFoundAgain(isSoftBefore: Bool) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.network.isOnline = false
      for mode in (isSoftBefore ? ["soft"] : []) + ["hard"] {
        let out = try await call(world, "account.signOut", #"{"account":"work","mode":"\#(mode)"}"#)
        #expect(out["revocation"] == "queued", "\(out)")
      }
      try await expectNothingReadable(world, scene.account)
      try await world.restart()
      try await expectNothingReadable(world, scene.account)
      world.network.isOnline = true
      #expect(try await world.signIn("bob", at: scene.provider) != scene.account)
      #expect(try await world.signIn("alice", at: scene.provider) == scene.account)
      let account = try await scene.account()
      #expect(account["displayName"] == "Alice Archer", "\(account)")
      #expect(try await call(world, "revocation.list").result?["revocations"]?.arrayValue?.isEmpty == true)
      #expect(scene.idp.isActive(refreshToken: scene.firstRefreshToken) == false)
      #expect(scene.works(try await scene.token()))
    }
  }

  /// Where a revocation ends whole grants, one that waits under the digest must not end the new sign-in.
  @Test func newSignIn_supersedesTheRevocationOfTheErasedAccount() throws {
    try scenario { world in
      var options = Scene.options
      options.revocationReach = .grant
      let scene = try await Scene.signedIn(
        world, options: options, more: #","refresh":{"reuse":"strict"},"revocationScope":"grant""#)
      world.network.next("/revoke", .notConnected(.unreachable), times: nil)
      _ = try await call(world, "account.signOut", #"{"account":"work","mode":"hard"}"#)
      #expect(try await world.signIn("alice", at: scene.provider) == scene.account)
      world.network.clearIncidents()
      await world.clock.sleep(for: .seconds(86_400))
      #expect(scene.works(try await scene.token()))
      #expect(try await call(world, "revocation.list").result?["revocations"]?.arrayValue?.isEmpty == true)
    }
  }

  @Test func forgottenAccount_leavesNoNameInTheOutbox() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.network.isOnline = false
      _ = try await call(world, "account.signOut", #"{"account":"work","mode":"soft"}"#)
      _ = try await call(world, "account.forget", #"{"account":"work"}"#)
      let line = try #require(try await call(world, "revocation.list").line)
      for name in Self.names { #expect(!line.contains(name), "\(name) in \(line)") }
      world.network.isOnline = true
      _ = try await call(world, "connectivity.report", #"{"online":true}"#)
      await world.clock.sleep(for: .seconds(60))
      #expect(scene.idp.activeRefreshTokens().isEmpty)
    }
  }
}
