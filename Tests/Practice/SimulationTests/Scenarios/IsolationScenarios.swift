import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Independent accounts (docs/architecture.md, Isolation).
@Suite(.tellsItsSeed) struct IsolationScenarios {
  /// One provider hangs, refuses or is unreachable while many callers ask for the other account's token.
  @Test func failureOfOneProvider_doesNotDelayAnotherAccount() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      let other = try await world.provider("other", options: Scene.options)
      let bob = try await world.signIn("bob", at: other, alias: "home")
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      let gate = Gate()
      let trouble = chance.one(of: [
        Incident.heldBefore(gate), .heldAfter(gate), .notConnected(.refused), .lostAnswer(.timedOut),
        .intercepted(status: 503, fields: [], body: ""),
      ])
      world.network.next("/token", trouble, host: "idp.test", times: nil)
      let ofAlice = try Crowd(world, clients: 2)
      let hanging = ofAlice.ask(chance.number(1...5))
      await world.clock.sleep(for: chance.milliseconds(0...100))

      let start = world.clock.boot()
      let ofBob = try Crowd(world, clients: chance.number(1...4))
      let storm = ofBob.ask(chance.number(5...25), "token.get", #"{"account":"home"}"#)
      let answers = await ofBob.answers(storm)
      #expect(world.clock.boot() - start <= Milliseconds(120), "a connection, one way there and one back")
      #expect(Set(answers.map { $0["accessToken"] }).count == 1)
      let token = try #require(answers[0]["accessToken"], "\(answers[0])")
      #expect(other.idp.isActive(accessToken: token))
      #expect(world.network.sent.filter { $0.refreshToken != nil && $0.url.contains("other.test") }.count == 1)
      // Now the token is cached: served at once, in any state of the other provider.
      let cached = world.clock.boot()
      for answer in await ofBob.answers(ofBob.ask(5, "token.get", #"{"account":"home"}"#)) {
        #expect(answer["accessToken"] == token)
      }
      #expect(try await scene.session()["account"] == scene.account)
      #expect(await ofBob.clients[0].call("account.list").result?["accounts"]?.arrayValue?.count == 2)
      #expect(world.clock.boot() == cached)
      ofBob.wasAnsweredOnce(storm.count + 6)

      gate.open()
      world.network.clearIncidents()
      for answer in await ofAlice.answers(hanging) {
        #expect(answer["accessToken"] != token)
        #expect(answer.line?.contains(token) == false, "nothing of another's token")
        #expect((answer["account"] ?? answer.json["error", "data", "account"]?.stringValue) == scene.account)
      }
      ofAlice.wasAnsweredOnce(hanging.count)
      #expect(witness.received("session.stateChanged", of: bob).isEmpty)
      #expect(witness.received("session.expired", of: bob).isEmpty)
      #expect(witness.received("token.refreshed", of: bob).count == 1)
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  /// After a start each account has its own grant, and no request is sent before a caller asks. Several starts of one
  /// world, each with its own schedule; a tenth of the accounts is used after each.
  private func restart(_ count: Int, starts: Int, _ world: SimulatedWorld, _ chance: Chance) async throws {
    var options = Scene.options
    options.users = (0..<count).map { PracticeUser(name: "person\($0)", tenant: "acme") }
    let provider = try await world.provider("idp", options: options)
    var grants: [(account: String, grant: String)] = []
    var grantOf: [String: String] = [:]
    for person in 0..<count {
      let account = try await world.signIn("person\(person)", at: provider)
      let token = try #require(try await Self.token(world, account)["accessToken"])
      let grant = try #require(provider.idp.grant(ofToken: token))
      grants.append((account, grant))
      grantOf[account] = grant
    }
    for start in 1...starts {
      let comment: Comment = "start \(start)"
      world.executor.reseed(world.seed &* 1000 &+ UInt64(start))
      await world.clock.sleep(for: .seconds(3601))
      let sent = world.network.sent.count
      let exchanged = world.network.count("/token")
      world.crash(chance.coin() ? .kill : .powerLoss(seed: UInt64(start)))
      try await world.restart()
      await world.clock.sleep(for: chance.seconds(0...7200))
      #expect(world.network.sent.count == sent, "no request yet; start \(start)")

      let crowd = try Crowd(world, clients: 4)
      let first = chance.number(0...9)
      let wanted = stride(from: first, to: count, by: 10).map { grants[$0].account }
      var asked: [Crowd.Request] = []
      for account in wanted {
        asked += crowd.ask(chance.number(1...2), "token.get", #"{"account":"\#(account)"}"#)
      }
      for answer in await crowd.answers(asked) {
        let token = try #require(answer["accessToken"], "\(answer); start \(start)")
        let account = try #require(answer["account"])
        #expect(provider.idp.isActive(accessToken: token), comment)
        #expect(provider.idp.grant(ofToken: token) == grantOf[account], "each account has its own; start \(start)")
      }
      // An exchange may read the metadata again, once a day.
      #expect(
        world.network.count("/token") == exchanged + wanted.count, "one exchange an account; start \(start)")
      crowd.wasAnsweredOnce(asked.count)
      for client in crowd.clients { client.disconnect() }
    }
    let listed = try await world.client().call("account.list").result?["accounts"]?.arrayValue?.count
    #expect(listed == count)
    #expect(grants.allSatisfy { provider.idp.endOfGrant($0.grant) == nil })
  }

  private static func token(_ world: SimulatedWorld, _ account: String) async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call("token.get", #"{"account":"\#(account)"}"#)
  }

  @Test func restartWithTwentyAccounts_keepsEachGrant() async throws {
    try await everySeed(40) { world, chance in try await self.restart(20, starts: 25, world, chance) }
  }

  /// A world of a thousand accounts takes seconds, so there are few starts.
  @Test func restartWithAThousandAccounts_keepsEachGrant() async throws {
    try await everySeed(2) { world, chance in try await self.restart(1000, starts: 3, world, chance) }
  }
}
