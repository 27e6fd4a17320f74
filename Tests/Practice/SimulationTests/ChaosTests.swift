import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Everything at once, at random: the invariants hold in any order of events.
///
/// Three accounts at two strict providers; programs that ask, force, cancel and go away; people who switch, lock, sign
/// out and in; networks, disks and processes that fail. Each seed is another history.
@Suite(.tellsItsSeed) struct ChaosTests {
  static let users = ["alice", "bob", "carol"]

  @Test func randomHistories_spendNoTokenTwice() async throws {
    try await everySeed { world, _ in try await History(world: world, seed: world.seed).run() }
  }

  /// One random history.
  final class History: Sendable {
    let world: SimulatedWorld
    let seed: UInt64
    let chance: SeededEntropy

    init(world: SimulatedWorld, seed: UInt64) {
      self.world = world
      self.seed = seed
      chance = SeededEntropy(seed: seed &* 0x9E37)
    }

    func number(_ range: ClosedRange<Int64>) -> Int64 { chance.number(in: range) }

    func run() async throws {
      let providers = [try await world.provider("one"), try await world.provider("two")]
      for (index, user) in ChaosTests.users.enumerated() {
        try await world.signIn(user, at: providers[index % 2], alias: user)
      }
      for _ in 0..<40 { try await step(providers) }
      try await calm(providers)
    }

    private func provider(of user: String, _ providers: [SimulatedProvider]) -> SimulatedProvider {
      providers[ChaosTests.users.firstIndex(of: user)! % 2]
    }

    private func step(_ providers: [SimulatedProvider]) async throws {
      let user = ChaosTests.users[Int(number(0...2))]
      let provider = provider(of: user, providers)
      guard world.isRunning, let client = try? world.client() else { return try await world.restart() }
      switch number(0...19) {
      case 0...4: try await ask(client, user)
      case 5, 6: await world.clock.sleep(for: .seconds(number(1...400)))
      case 7:
        client.send("token.refresh", #"{"account":"\#(user)"}"#)
        client.disconnect()
      case 8: world.network.next("/token", .lostAnswer(.reset))
      case 9: world.network.next("/token", .lostRequest(.timedOut))
      case 10: world.network.next("/token", .notConnected(.refused), times: 2)
      case 11: provider.idp.enqueueFault("/token", .status(503))
      case 12:
        _ = await client.call("agent.lock")
        await world.clock.sleep(for: Milliseconds(number(0...200)))
        _ = await client.call("agent.unlock")
      case 13: world.failDisk(.fail(.inputOutput, once: number(0...1) == 0), at: Int(number(1...60)))
      case 14:
        world.disk.withdrawPlan()
        world.disk.setCapacity(number(0...1) == 0 ? nil : world.disk.bytes().count + Int(number(0...100_000)))
      case 15:
        let death: SimulatedDisk.Death = number(0...1) == 0 ? .kill : .powerLoss(seed: UInt64(number(1...99)))
        if number(0...1) == 0 {
          world.crash(death)
        } else {
          world.failDisk(.die(death), at: Int(number(1...80)))
          client.send("token.refresh", #"{"account":"\#(user)"}"#)
          await world.clock.sleep(for: .seconds(1))
        }
        world.disk.setCapacity(nil)
        try await world.restart()
      case 16:
        let mode = ["soft", "hard", "offline"][Int(number(0...2))]
        client.send("account.signOut", #"{"account":"\#(user)","mode":"\#(mode)"}"#)
        await world.clock.sleep(for: Milliseconds(number(0...5000)))
      case 17: _ = try? await world.signIn(user, at: provider, alias: user)
      case 18: client.send("account.switch", #"{"account":"\#(user)"}"#)
      default: world.clock.suspend(for: .seconds(number(1...4000)))
      }
      if number(0...3) == 0 { client.disconnect() }
      check(providers)
    }

    /// Some callers of one account, of which some cancel.
    private func ask(_ client: SimulatedClient, _ user: String) async throws {
      let requests = (0..<number(1...6)).map { _ in
        client.send("token.get", #"{"account":"\#(user)","timeoutSeconds":\#(number(1...60))}"#)
      }
      if number(0...2) == 0 { client.cancel(requests[0]) }
      for request in requests {
        let answer = await client.answer(to: request)
        guard let code = answer.code else { continue }
        let expected = [1001, 1002, 1004, 1006, 2001, 2003, 2004, 3001, 3002, 5001]
        #expect(expected.contains(code), "seed \(seed): \(answer)")
      }
    }

    /// No strict provider saw a token twice: that would have ended the family.
    private func check(_ providers: [SimulatedProvider]) {
      for provider in providers {
        let refused = provider.idp.requests(to: "/token").filter { $0.error == "invalid_grant" && !$0.metFault }
        #expect(refused.isEmpty, "seed \(seed): a spent or dead token was sent: \(refused)")
      }
    }

    /// The incidents end: every account works, at worst after a sign-in, and so it does after the next start.
    private func calm(_ providers: [SimulatedProvider]) async throws {
      world.network.clearIncidents()
      world.disk.setCapacity(nil)
      for provider in providers { provider.idp.clearFaults() }
      try await world.restart()
      for round in 0..<2 {
        await world.clock.sleep(for: .seconds(4000))
        for user in ChaosTests.users {
          let client = try world.client()
          var answer = await client.call("token.get", #"{"account":"\#(user)"}"#)
          if round == 0, let code = answer.code {
            // A hard sign-out erased the alias.
            #expect([2001, 2003, 2004].contains(code), "seed \(seed), \(user): \(answer)")
            try await world.signIn(user, at: provider(of: user, providers), alias: user)
            answer = await client.call("token.get", #"{"account":"\#(user)"}"#)
          }
          let token = try #require(answer["accessToken"], "seed \(seed), \(user), round \(round): \(answer)")
          #expect(provider(of: user, providers).idp.isActive(accessToken: token), "seed \(seed), \(user)")
        }
        check(providers)
        try await world.restart()
      }
    }
  }
}
