import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// Tokens in use are renewed in time, before a caller waits, and many renewals are sent two at a time.
@Suite(.tellsItsSeed) struct RenewalScenarios {
  /// A program that asks about once a minute never waits for an exchange, and each token is renewed once.
  @Test func tokenInUse_isRenewedBeforeACallerWaits() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, options: PracticeOptions())
      let witness = try await Witness.at(world)
      let rounds = chance.number(10...30)
      var generations: [Int64] = []
      for _ in 0..<rounds {
        await world.clock.sleep(for: chance.milliseconds(1000...90_000))
        let answer = try await scene.token(#","minimumLifetimeSeconds":1"#)
        #expect(answer["source"] == "cache", "\(answer)")
        #expect(scene.works(answer))
        generations.append(answer.result?["generation"]?.integerValue ?? 0)
      }
      #expect(generations == generations.sorted())
      // One renewal may be in flight at this moment.
      let begun = scene.refreshes.count
      await world.clock.sleep(for: .seconds(5))
      #expect((begun...scene.refreshes.count).contains(witness.refreshes))
      // A token of five minutes lasts at least 255 s.
      let gaps = zip(scene.refreshes, scene.refreshes.dropFirst()).map { $1.at - $0.at }
      #expect(gaps.allSatisfy { $0 >= .seconds(255) && $0 < .seconds(300) }, "\(gaps)")

      // Unused, it is renewed for half an hour more, and then no longer.
      await world.clock.sleep(for: .seconds(3600))
      let count = scene.refreshes.count
      await world.clock.sleep(for: .seconds(7200))
      #expect(scene.refreshes.count == count)
      #expect(try await scene.token()["source"] == "refreshed")
    }
  }

  /// The provider is unreachable when the token is due: the renewal is retried until it succeeds, unnoticed by callers.
  @Test func failedRenewal_isRetriedUnnoticed() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      #expect(try await scene.token()["source"] == "cache")
      let witness = try await Witness.at(world)
      let client = try world.client()
      // In use, until it is due.
      await world.clock.sleep(for: .seconds(1800))
      #expect(try await scene.token()["source"] == "cache")
      let incident = chance.one(of: [
        Incident.notConnected(.nameNotFound), .notConnected(.refused), .untrusted(.unknownAuthority),
        .intercepted(status: 503, fields: [], body: ""),
      ])
      world.network.next("/token", incident, times: chance.number(1...4))
      await world.clock.sleep(for: .seconds(1500))
      #expect(["cache", "staleOk"].contains(try await scene.token()["source"]))
      await world.clock.sleep(for: .seconds(299))
      let answer = await client.call("token.get", #"{"account":"work"}"#)
      #expect(answer["source"] == "cache", "\(answer)")
      #expect(scene.works(answer))
      #expect(witness.refreshes == 1 && witness.expiries == [])
      #expect(try await scene.session()["state"] == "active")
    }
  }

  // MARK: many accounts

  private static func crowd(
    _ world: SimulatedWorld, _ count: Int, providers: Int = 1
  ) async throws -> [(account: String, provider: SimulatedProvider)] {
    var options = Scene.options
    options.users = (0..<count).map { PracticeUser(name: "user\($0)") }
    var found: [SimulatedProvider] = []
    for number in 0..<providers { found.append(try await world.provider("idp\(number)", options: options)) }
    let client = try world.client()
    var accounts: [(account: String, provider: SimulatedProvider)] = []
    for number in 0..<count {
      let provider = found[number % providers]
      let token = try #require(try provider.idp.signIn(user: "user\(number)").refreshToken)
      let answer = await client.call("signIn.import", #"{"provider":"\#(provider.name)","refreshToken":"\#(token)"}"#)
      accounts.append((try #require(answer["account"], "\(answer)"), provider))
    }
    return accounts
  }

  /// Many accounts at one issuer after the machine wakes: two exchanges at a time, accounts with waiting callers first,
  /// and each account once.
  private static func wake(_ world: SimulatedWorld, _ chance: Chance, accounts count: Int) async throws {
    let accounts = try await crowd(world, count)
    let idp = accounts[0].provider.idp
    let client = try world.client()
    await world.clock.sleep(for: .seconds(chance.one(of: [1600, 2400])))
    for (account, _) in accounts {
      #expect(await client.call("token.get", #"{"account":"\#(account)"}"#)["source"] == "cache")
    }
    let before = world.network.sent.count
    // Asleep until all tokens have expired, and short enough that the accounts still count as used.
    world.clock.suspend(for: .seconds(1790))
    await world.clock.sleep(for: chance.milliseconds(0...200))
    let wanted = (0..<min(count, 3)).map { _ in chance.number(0...count - 1) }
    let atAsking = world.network.sent.count
    let asked = wanted.map { client.send("token.get", #"{"account":"\#(accounts[$0].account)"}"#) }
    for (number, id) in zip(wanted, asked) {
      let answer = await client.answer(to: id)
      #expect(answer["accessToken"].map { idp.isActive(accessToken: $0) } == true, "\(answer)")
      #expect(answer["account"] == accounts[number].account)
    }
    let sentUntilAnswered = world.network.sent.count - atAsking
    #expect(sentUntilAnswered <= Set(wanted).count + 3, "accounts with waiting callers come first")
    await world.clock.sleep(for: .seconds(30))
    let exchanges = world.network.sent.dropFirst(before).compactMap(\.refreshToken)
    #expect(Set(exchanges).count == exchanges.count, "each refresh token once")
    #expect(exchanges.count <= count)
    #expect(world.network.mostAtOnce("/token") <= 2)
  }

  @Test func wakeWithManyAccounts_refreshesTwoAtATime() async throws {
    try await everySeed { world, chance in try await Self.wake(world, chance, accounts: chance.number(3...8)) }
  }

  @Test func wakeWithFiftyAccounts_refreshesTwoAtATime() async throws {
    try await everySeed(30) { world, chance in try await Self.wake(world, chance, accounts: 50) }
  }

  /// Many issuers: four exchanges at a time, and one that hangs delays the others only briefly.
  @Test func refreshesAtManyIssuers_areNotBlockedByAHangingOne() async throws {
    try await everySeed { world, chance in
      let accounts = try await Self.crowd(world, 6, providers: 3)
      let client = try world.client()
      await world.clock.sleep(for: .seconds(3601))
      let hangs = accounts[0].provider
      let gate = Gate()
      world.network.next("/token", .heldBefore(gate), host: "\(hangs.name).test", times: nil)
      let asked = accounts.map { client.send("token.get", #"{"account":"\#($0.account)"}"#) }
      let start = world.clock.boot()
      for (number, id) in asked.enumerated() where accounts[number].provider.name != hangs.name {
        let answer = await client.answer(to: id)
        #expect(answer["source"] == "refreshed", "\(answer)")
      }
      #expect(world.clock.boot() - start < .seconds(5))
      #expect(world.network.mostAtOnce("/token") <= 4)
      gate.open()
      for (number, id) in asked.enumerated() where accounts[number].provider.name == hangs.name {
        #expect(await client.answer(to: id)["source"] == "refreshed")
      }
    }
  }
}
