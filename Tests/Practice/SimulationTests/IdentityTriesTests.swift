import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// The tokens of a sign-in are good only once: a key set or userinfo that fails for a moment does not end it.
@Suite struct IdentityTriesTests {
  private static let paths = ["/jwks", "/userinfo"]
  private static let busy = [
    Fault.status(503), .status(503, headers: [("Retry-After", "1")]), .status(429), Fault(.dropAfterProcessing),
  ]

  /// An answer without an ID token, so that userinfo has to name the person.
  private static func prepare(_ path: String, _ idp: PracticeProvider) {
    if path == "/userinfo" { idp.enqueueFault("/token", Fault(.changeAnswer(["id_token": .null]))) }
  }

  private static func importing(_ token: String, into world: SimulatedWorld) async throws -> SimulatedAnswer {
    try await world.client().call("signIn.import", #"{"provider":"idp","refreshToken":"\#(token)"}"#)
  }

  @Test(arguments: paths, busy) func failureThatPasses_endsNoImport(path: String, fault: Fault) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let token = try #require(try scene.idp.signIn(user: "bob").refreshToken)
      Self.prepare(path, scene.idp)
      scene.idp.enqueueFault(path, fault)
      let imported = try await Self.importing(token, into: world)
      let account = try #require(imported["account"], "\(imported)")
      #expect(!scene.idp.hasFaults)
      #expect(scene.works(try await scene.tokenOf(account)))
      await world.clock.sleep(for: .seconds(120))
      #expect(world.network.count("/revoke") == 0)
    }
  }

  @Test func failureThatPasses_endsNoSignIn() throws {
    try scenario { world in
      let provider = try await world.provider("idp", options: Scene.options)
      provider.idp.enqueueFault("/jwks", .status(503))
      let account = try await world.signIn("alice", at: provider, alias: "work")
      #expect(!provider.idp.hasFaults && !account.isEmpty)
    }
  }

  /// The ID token has no tenant, and the configuration expects one.
  @Test func failureThatPasses_hidesNoTenant() throws {
    try scenario { world in
      let provider = try await world.provider("idp", options: Scene.options, more: #","tenant":{"claim":"tid"}"#)
      provider.idp.enqueueFault("/token", Fault(.changeIDToken(["tid": nil])))
      provider.idp.enqueueFault("/userinfo", .status(503))
      let account = try await world.signIn("alice", at: provider, alias: "work")
      #expect(!provider.idp.hasFaults && !account.isEmpty)
    }
  }

  @Test(arguments: paths) func failureThatLasts_spendsTheImportedTokenAndSaysSo(path: String) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let token = try #require(try scene.idp.signIn(user: "bob").refreshToken)
      Self.prepare(path, scene.idp)
      let asked = world.network.count(path)
      scene.idp.enqueueFault(path, .status(503, count: nil))
      let refused = try await Self.importing(token, into: world)
      #expect(refused.code == 2007, "\(refused)")
      #expect(refused.json["error", "data", "retryable"] == .bool(false), "\(refused)")
      #expect("\(refused)".contains("The imported token is used up: sign in again"), "\(refused)")
      #expect(world.network.count(path) == asked + 3)
      await world.clock.sleep(for: .seconds(120))
      #expect(scene.idp.activeRefreshTokens(user: "bob").isEmpty)
    }
  }

  /// A second try can't succeed, also once the vault is unlocked.
  @Test func lockingDuringAnImport_isNothingToTryAgain() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let token = try #require(try scene.idp.signIn(user: "bob").refreshToken)
      let gate = Gate()
      world.network.next("/token", .heldAfter(gate))
      let client = try world.client()
      let asked = client.send("signIn.import", #"{"provider":"idp","refreshToken":"\#(token)"}"#)
      await gate.reached()
      #expect(try await world.client().call("agent.lock").error == nil)
      gate.open()
      let refused = await client.answer(to: asked)
      #expect(refused.code == 2007, "\(refused)")
      #expect(refused.json["error", "data", "retryable"] == .bool(false), "\(refused)")
      #expect(refused.json["error", "data", "remedies"] == nil, "\(refused)")
      let message = refused.json["error", "message"]?.stringValue ?? ""
      #expect(message.contains("locked before the account was stored") && !message.contains("try again"), "\(message)")
      #expect(try await world.client().call("agent.unlock").error == nil)
      await world.clock.sleep(for: .seconds(120))
      #expect(scene.idp.activeRefreshTokens(user: "bob").isEmpty)
    }
  }
}
