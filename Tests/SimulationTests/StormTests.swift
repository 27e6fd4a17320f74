import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// Many callers, one grant.
@Suite struct StormTests {
  /// Fifty callers find the token expired, in a thousand schedules: one exchange, and one token for all.
  @Test func fiftyCallersAtExpiryMakeOneExchange() throws {
    for seed in 1...1000 as ClosedRange<UInt64> {
      let world = SimulatedWorld(seed: seed)
      let (answers, exchanges) = try world.run { world in
        let idp = try await world.provider("idp")
        try await world.signIn("alice", at: idp, alias: "work")
        let before = world.network.count("/token")
        await world.clock.sleep(for: .seconds(301))
        let clients = try (0..<5).map { _ in try world.client() }
        let answers = await withTaskGroup(of: SimulatedAnswer.self) { group in
          for caller in 0..<50 {
            group.addTask { await clients[caller % 5].call("token.get", #"{"account":"work"}"#) }
          }
          return await group.reduce(into: []) { $0.append($1) }
        }
        return (answers, world.network.count("/token") - before)
      }
      #expect(exchanges == 1, "seed \(seed)")
      #expect(Set(answers.map { $0["accessToken"] }).count == 1, "seed \(seed)")
      #expect(answers.allSatisfy { $0["source"] != nil }, "seed \(seed)")
      #expect(world.executor.strayEnqueues == 0, "seed \(seed)")
    }
  }
}
