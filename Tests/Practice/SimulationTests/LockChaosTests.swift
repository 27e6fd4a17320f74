import AgentModel
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Locks at any moment, amid refreshes, sign-outs, unlocks and deaths. The network loses nothing here, so no account
/// may ever need a new sign-in.
@Suite(.tellsItsSeed) struct LockChaosTests {
  static let users = ["alice", "bob"]

  @Test func randomLocks_loseAndReviveNoToken() async throws {
    try await everySeed { world, _ in try await History(world: world, seed: world.seed).run() }
  }

  final class History: Sendable {
    let world: SimulatedWorld
    let seed: UInt64
    let chance: SeededEntropy

    init(world: SimulatedWorld, seed: UInt64) {
      self.world = world
      self.seed = seed
      chance = SeededEntropy(seed: seed &* 0xC0FFEE)
    }

    func number(_ range: ClosedRange<Int64>) -> Int64 { chance.number(in: range) }

    func run() async throws {
      let provider = try await world.provider("idp", options: Scene.options)
      for user in LockChaosTests.users { try await world.signIn(user, at: provider, alias: user) }
      for _ in 0..<30 { try await step(provider) }
      try await calm(provider)
    }

    private func step(_ provider: SimulatedProvider) async throws {
      let user = LockChaosTests.users[Int(number(0...1))]
      let client = try world.client()
      switch number(0...12) {
      case 0...2: client.send("token.refresh", #"{"account":"\#(user)"}"#)
      case 3, 4: world.network.next("/token", .delay(Milliseconds(number(0...3000))))
      case 5...7: await pause(client, "agent.lock")
      case 8, 9: await pause(client, "agent.unlock")
      case 10: await world.clock.sleep(for: Milliseconds(number(0...4000)))
      case 11:
        let mode = ["soft", "hard", "offline"][Int(number(0...2))]
        let asked = client.send("account.signOut", #"{"account":"\#(user)","mode":"\#(mode)"}"#)
        await world.clock.sleep(for: Milliseconds(number(0...300)))
        let isOut = await client.answer(to: asked).error == nil
        if isOut, number(0...1) == 0 { _ = try? await world.signIn(user, at: provider, alias: user) }
      default:
        // Pending exchanges end first: a death during one is another test. None of them is in memory only.
        await pause(client, "agent.lock")
        await world.clock.sleep(for: .seconds(20))
        world.crash(number(0...1) == 0 ? .kill : .powerLoss(seed: UInt64(number(1...99))))
        try await world.restart()
      }
      client.disconnect()
      let refused = provider.idp.requests(to: "/token").filter { $0.error == "invalid_grant" }
      #expect(refused.isEmpty, "seed \(seed): a spent or dead token was sent: \(refused)")
    }

    /// Calls `method`, and sometimes does not wait for the answer.
    private func pause(_ client: SimulatedClient, _ method: String) async {
      let asked = client.send(method)
      if number(0...3) == 0 { return await world.clock.sleep(for: Milliseconds(number(0...50))) }
      _ = await client.answer(to: asked)
    }

    private func calm(_ provider: SimulatedProvider) async throws {
      let client = try world.client()
      await world.clock.sleep(for: .seconds(20))
      #expect(await client.call("agent.unlock").error == nil, "seed \(seed)")
      // At most as long as an offline sign-out waits for the network.
      await world.clock.sleep(for: .seconds(7 * 3600))
      var signedIn = 0
      for user in LockChaosTests.users {
        let answer = await client.call("token.get", #"{"account":"\#(user)"}"#)
        // A hard sign-out erased the alias.
        if [2001, 2003].contains(answer.code) { continue }
        signedIn += 1
        let token = try #require(answer["accessToken"], "seed \(seed), \(user): \(answer)")
        #expect(provider.idp.isActive(accessToken: token), "seed \(seed), \(user)")
      }
      let alive = provider.idp.activeRefreshTokens().count
      #expect(alive == signedIn, "seed \(seed): \(alive) tokens live, of \(signedIn) accounts")
    }
  }
}
