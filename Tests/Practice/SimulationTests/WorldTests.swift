import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// The simulated world itself.
@Suite struct WorldTests {
  @Test func simulatedWorld_signsInAndServesAToken() throws {
    let world = SimulatedWorld(seed: 1)
    try world.run { world in
      let idp = try await world.provider("idp")
      let account = try await world.signIn("alice", at: idp, alias: "work")
      let answer = try await world.client().call("token.get", #"{"account":"work"}"#)
      #expect(answer["account"] == account)
      #expect(answer["source"] == "cache")
      #expect(idp.idp.isActive(accessToken: answer["accessToken"] ?? ""))
    }
    #expect(world.executor.strayEnqueues == 0)
  }

  @Test func sameSeed_givesTheSameSchedule() throws {
    func trace(_ seed: UInt64) throws -> UInt64 {
      let world = SimulatedWorld(seed: seed)
      try world.run { world in
        let idp = try await world.provider("idp")
        try await world.signIn("alice", at: idp, alias: "work")
        try await world.signIn("bob", at: idp, alias: "home")
        await world.clock.sleep(for: .seconds(400))
        let client = try world.client()
        async let first = client.call("token.get", #"{"account":"work"}"#)
        async let second = client.call("token.get", #"{"account":"home"}"#)
        _ = await (first, second)
      }
      return world.executor.trace
    }
    #expect(try trace(11) == trace(11))
    #expect(try trace(11) != trace(12))
  }
}
