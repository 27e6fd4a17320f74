import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// Provider metadata is refreshed in the background, and is not needed to serve tokens.
@Suite struct MetadataTests {
  private let document = "/.well-known/openid-configuration"

  private func reads(_ world: SimulatedWorld) -> Int { world.network.count(document) }

  @Test func unreachableMetadata_doesNotPreventRefreshes() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      for path in [document, "/.well-known/oauth-authorization-server"] {
        world.network.next(path, .notConnected(.refused), times: nil)
      }
      try await world.restart()
      await world.clock.sleep(for: .seconds(3 * 86_400))
      for _ in 0..<3 {
        #expect(scene.works(try await scene.token(method: "token.refresh")))
        try await world.signIn("bob", at: scene.provider)
      }
    }
  }

  @Test func metadata_isReadAtMostDailyBesideAnExchange() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      #expect(reads(world) == 1)
      for _ in 0..<24 {
        await world.clock.sleep(for: .seconds(3000))
        _ = try await scene.token(method: "token.refresh")
      }
      #expect(reads(world) == 1, "they are fresh for a day")
      await world.clock.sleep(for: .seconds(8 * 86_400))
      #expect(reads(world) == 1, "no timer asks for them")
      for _ in 0..<10 { _ = try await scene.token(method: "token.refresh") }
      await world.clock.sleep(for: .seconds(10))
      #expect(reads(world) == 2)
      try await world.restart()
      _ = try await scene.token(method: "token.refresh")
      await world.clock.sleep(for: .seconds(10))
      #expect(reads(world) == 2, "when they were read is remembered")
    }
  }

  /// The provider adds an endpoint: the agent finds it without a new `provider.add`.
  @Test func newEndpoint_isFoundByTheNextMetadataRefresh() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      scene.idp.configure { $0.pushedAuthorization = .required }
      await world.clock.sleep(for: .seconds(8 * 86_400))
      _ = try await scene.token(method: "token.refresh")
      await world.clock.sleep(for: .seconds(10))
      try await world.restart()
      try await world.signIn("bob", at: scene.provider)
      #expect(scene.idp.requestCount(to: "/par") == 1)
    }
  }

  @Test func missingEndpoint_rereadsMetadataOnceAnHour() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      scene.idp.enqueueFault("/token", .status(404, "gone", count: nil))
      for _ in 0..<5 {
        _ = try await scene.token(method: "token.refresh")
        await world.clock.sleep(for: .seconds(60))
      }
      #expect(reads(world) == 2)
    }
  }

  @Test(arguments: [
    Fault(.changeAnswer(["issuer": "https://evil.test", "token_endpoint": "https://evil.test/token"]), count: nil),
    Fault.status(503, count: nil), Fault(.notJSON, count: nil),
  ]) func invalidMetadata_changesNothing(fault: Fault) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let evil = world.makeProvider("evil")
      let before = try await world.client().call("provider.get", #"{"provider":"idp"}"#).line
      for path in [document, "/.well-known/oauth-authorization-server"] { scene.idp.enqueueFault(path, fault) }
      await world.clock.sleep(for: .seconds(8 * 86_400))
      #expect(scene.works(try await scene.token(method: "token.refresh")))
      await world.clock.sleep(for: .seconds(10))
      #expect(world.network.count("/.well-known/oauth-authorization-server") == 2)
      #expect(try await world.client().call("provider.get", #"{"provider":"idp"}"#).line == before)
      #expect(evil.idp.requestCount(to: "/token") == 0)
      #expect(scene.works(try await scene.token(method: "token.refresh")))
    }
  }

  /// A document must not direct a browser to this machine or to plain HTTP.
  @Test(arguments: ["http://127.0.0.1:8080/authorize", "http://idp.test/authorize", "javascript:alert(1)", "//x"])
  func forbiddenEndpointAddress_isLeftOut(address: String) throws {
    try scenario { world in
      let provider = world.makeProvider("idp", options: Scene.options)
      for path in [document, "/.well-known/oauth-authorization-server"] {
        provider.idp.enqueueFault(
          path, Fault(.changeAnswer(["authorization_endpoint": .string(address)]), count: nil))
      }
      _ = try await world.client().call(
        "provider.add", #"{"name":"idp","issuer":"https://idp.test","clientId":"lanyard-demo"}"#)
      let begun = try await world.client().call("signIn.begin", #"{"provider":"idp","flow":"browser"}"#)
      #expect(begun.code == 3003, "\(begun)")
      #expect(world.browser.listening.isEmpty)
    }
  }

  /// Keys are fetched at each sign-in; a token signed by an unknown key fetches them once more.
  @Test func rotatedSigningKeys_areFetchedAtASignIn() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      scene.idp.rotateKeys(to: .edDSA, keepOld: false)
      try await world.signIn("bob", at: scene.provider)
      let looks = world.network.count("/jwks")
      scene.idp.enqueueFault("/token", Fault(.changeIDToken([:], signature: .unknownKey)))
      await #expect(throws: SceneFailed.self) { try await world.signIn("carol", at: scene.provider) }
      #expect(world.network.count("/jwks") == looks + 1)
    }
  }
}
