import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// A request that is about to leave waits for the provider's confirmation where a decision lacks that (docs/offline.md,
/// Confirmations).
@Suite struct RequestConfirmationTests {
  /// Without a window: allowed only online.
  private static let policy = #"""
    {"name":"default","policy":{"name":"default","version":1,"capabilities":{"write":{"kind":"write",\#
    "requests":[{"origin":"https://idp.test","methods":["POST"],"path":"/protected"}]}}}}
    """#

  private static func signedIn(_ world: SimulatedWorld) async throws -> Scene {
    let scene = try await Scene.signedIn(world, more: #","allowedOrigins":["https://idp.test"]"#)
    let owner = try world.client()
    #expect(await owner.call("policy.set", policy).error == nil)
    return scene
  }

  /// A request by one of the methods that decide about requests.
  private static func ask(
    _ method: String, _ scene: Scene, _ client: SimulatedClient, more: String = ""
  ) async -> SimulatedAnswer {
    let request = #""method":"POST","url":"https://idp.test/protected""#
    let params = method == "operation.enqueue" ? #""capability":"write","request":{\#(request)}"# : request
    return await client.call(method, #"{"account":"\#(scene.account)",\#(params)\#(more)}"#)
  }

  private static let methods = ["request.send", "request.authorize", "operation.enqueue"]

  @Test(arguments: methods)
  func firstRequestAfterAStart_andAfterAnIdleMinute_isAllowed(method: String) throws {
    try scenario { world in
      let scene = try await Self.signedIn(world)
      try await world.restart()
      let client = try world.client()
      for _ in 0..<3 {
        let answer = await Self.ask(method, scene, client)
        #expect(answer.error == nil, "\(answer)")
        await world.clock.sleep(for: .seconds(66))
      }
    }
  }

  @Test(arguments: methods)
  func requestOfACallerThatIsOffline_isDeniedAtOnce(method: String) throws {
    try scenario { world in
      let scene = try await Self.signedIn(world)
      await world.clock.sleep(for: .seconds(66))
      world.network.isOnline = false
      let client = try world.client()
      #expect(await client.call("connectivity.report", #"{"online":false}"#).error == nil)
      let before = world.clock.boot()
      let answer = await Self.ask(method, scene, client)
      #expect(answer.code == 4001 && answer.reason == "onlineRequired", "\(answer)")
      #expect(world.clock.boot() - before < .seconds(1))
    }
  }

  @Test(arguments: methods)
  func requestAtAProviderThatIsSilent_isDeniedAfterTenSeconds(method: String) throws {
    try scenario { world in
      let scene = try await Self.signedIn(world)
      await world.clock.sleep(for: .seconds(66))
      let gate = Gate()
      for path in ["/userinfo", "/token"] {
        world.network.next(path, .heldBefore(gate), host: "idp.test", times: nil)
      }
      let client = try world.client()
      let before = world.clock.boot()
      let answer = await Self.ask(method, scene, client)
      // The question to the provider ends in the same moment, and then the account is not online.
      let reasons = ["freshTokenRequired", "onlineRequired"]
      #expect(answer.code == 4001 && reasons.contains(answer.reason ?? ""), "\(answer)")
      let waited = world.clock.boot() - before
      #expect(waited >= .seconds(10) && waited < .seconds(11), "\(waited)")
      gate.open()
    }
  }

  @Test(arguments: ["request.send", "request.authorize"])
  func callersTimeout_endsTheWait(method: String) throws {
    try scenario { world in
      let scene = try await Self.signedIn(world)
      await world.clock.sleep(for: .seconds(66))
      let gate = Gate()
      for path in ["/userinfo", "/token"] {
        world.network.next(path, .heldBefore(gate), host: "idp.test", times: nil)
      }
      let client = try world.client()
      let before = world.clock.boot()
      let answer = await Self.ask(method, scene, client, more: #","timeoutSeconds":2"#)
      #expect(answer.code == 1006, "\(answer)")
      #expect(world.clock.boot() - before < .seconds(3))
      gate.open()
    }
  }
}
