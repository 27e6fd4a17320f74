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

  /// A run makes a hundred thousand agents in one test process.
  @Test func agentOfAKilledProcess_isFreedWithItsConnections() throws {
    let killed = try SimulatedWorld(seed: 1).run { world in
      let idp = try await world.provider("idp")
      try await world.signIn("alice", at: idp, alias: "work")
      await world.clock.sleep(for: .seconds(400))
      let client = try world.client()
      #expect(await client.call("token.get", #"{"account":"work"}"#).error == nil)
      let running = Weak(object: world.server)
      #expect(running.object != nil)
      try await world.restart()
      return running
    }
    #expect(killed.object == nil)
  }
}

private struct Weak: Sendable {
  weak var object: (any AnyObject & Sendable)?
}
