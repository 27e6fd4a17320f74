import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// Many callers of one grant: they wait, join an exchange, or are answered from the cache.
@Suite(.tellsItsSeed) struct CallerScenarios {
  static let rotations: [RefreshTokenRotation] = [.strict, .grace(seconds: 60), .none]

  @Test func callersAtOnce_shareOneExchange() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: chance.one(of: Self.rotations))
      let generation = try await scene.generation()
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      let crowd = try Crowd(world, clients: chance.number(1...6))
      // Some come at once, some during the exchange, some after it.
      let delays = (0..<chance.number(10...50)).map { _ in
        chance.coin() ? Milliseconds.zero : chance.milliseconds(0...120)
      }
      let answers = await crowd.answers(after: delays)
      #expect(scene.refreshes.count == 1)
      #expect(Set(answers.map { $0["accessToken"] }).count == 1)
      for answer in answers {
        #expect(["refreshed", "cache"].contains(answer["source"]), "\(answer)")
        #expect(answer["account"] == scene.account)
      }
      #expect(scene.works(answers[0]))
      #expect(witness.refreshes == 1)
      #expect(witness.expiries == [])
      #expect(try await scene.generation() == generation + 1)
      crowd.wasAnsweredOnce(delays.count)
    }
  }

  /// A resource rejects a token that has been replaced in the meantime.
  @Test func rejectionOfAReplacedToken_makesNoExchange() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      let first = try await scene.token()
      let old = try #require(first["fingerprint"])
      let crowd = try Crowd(world, clients: 3)
      // The forced exchange and the first rejection may come in any order: one exchange answers both.
      let forced = crowd.ask(1, "token.refresh")
      let early = crowd.ask(chance.number(0...4), "token.reject", scene.rejecting(old))
      let second = await crowd.answers(forced + early)
      #expect(Set(second.map { $0["accessToken"] }).count == 1)
      #expect(scene.refreshes.count == 1)
      let new = try #require(second[0]["fingerprint"])
      #expect(new != old)

      await world.clock.sleep(for: chance.milliseconds(0...3_000_000))
      let late = await crowd.answers(crowd.ask(chance.number(1...8), "token.reject", scene.rejecting(old)))
      for answer in late {
        #expect(answer["fingerprint"] == new, "\(answer)")
        #expect(answer["source"] == "cache", "\(answer)")
      }
      #expect(scene.refreshes.count == 1, "an older token costs no exchange")
      #expect(try await scene.token()["fingerprint"] == new)
    }
  }

  /// A forced caller waits for the exchange; a caller satisfied with the cached token does not.
  @Test func forcedCaller_doesNotDelayOrdinaryCallers() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      if chance.coin() { await scene.expireUnused() }
      let wasExpired = try await scene.session()["freshness"] == "expired"
      let before = wasExpired ? nil : try await scene.token()["accessToken"]
      let crowd = try Crowd(world, clients: chance.number(1...4))
      var forced: [Crowd.Request] = []
      var ordinary: [Crowd.Request] = []
      for _ in 0..<chance.number(4...16) {
        if chance.coin() { forced += crowd.ask(1, "token.refresh") } else { ordinary += crowd.ask(1) }
      }
      let start = world.clock.boot()
      let served = await crowd.answers(ordinary)
      if !wasExpired { #expect(world.clock.boot() == start, "a token that is fresh takes no time") }
      let renewed = await crowd.answers(forced)
      #expect(scene.refreshes.count == (wasExpired || !forced.isEmpty ? 1 : 0))
      let tokens = Set(renewed.map { $0["accessToken"] })
      #expect(tokens.count == (forced.isEmpty ? 0 : 1))
      #expect(!tokens.contains(before))
      #expect(renewed.allSatisfy { scene.works($0) })
      #expect(served.allSatisfy { scene.works($0) })
      if wasExpired { #expect(Set(served.map { $0["accessToken"] }).union(tokens).count == 1) }
      crowd.wasAnsweredOnce(forced.count + ordinary.count)
    }
  }

  /// The replacement of a rejected token is rejected, too: another exchange would start a loop.
  @Test func secondRejectionInARow_makesNoExchange() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      let first = try #require(try await scene.token()["fingerprint"])
      let crowd = try Crowd(world, clients: 3)
      let some = chance.number(1...6)
      let replaced = await crowd.answers(crowd.ask(some, "token.reject", scene.rejecting(first)))
      #expect(scene.refreshes.count == 1)
      let second = try #require(replaced[0]["fingerprint"])
      #expect(replaced.allSatisfy { $0["fingerprint"] == second && scene.works($0) })

      await world.clock.sleep(for: chance.milliseconds(0...59_000))
      for answer in await crowd.answers(crowd.ask(chance.number(1...6), "token.reject", scene.rejecting(second))) {
        answer.isExpected(2005, account: scene.account)
      }
      #expect(scene.refreshes.count == 1, "the breaker is open")
      #expect(try await scene.token()["fingerprint"] == second, "an ordinary request is served")

      await world.clock.sleep(for: .seconds(61))
      let third = await crowd.answers(crowd.ask(some, "token.reject", scene.rejecting(second)))
      #expect(third.allSatisfy { scene.works($0) && $0["fingerprint"] != second }, "\(third)")
      #expect(scene.refreshes.count == 2)
    }
  }

  /// One refresh token, several audiences: they take turns, and none spends the token twice.
  @Test func audiencesOfOneStrictGrant_takeTurns() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      let crowd = try Crowd(world, clients: chance.number(1...4))
      let audiences: [(members: String, resource: String?, scopes: Set<String>?)] = [
        ("", nil, nil), (#","resource":"https://a.example/""#, "https://a.example/", nil),
        (#","resource":"https://b.example/""#, "https://b.example/", nil),
        (#","scopes":["openid","email"]"#, nil, ["openid", "email"]),
        (#","resource":"https://a.example/","scopes":["openid"]"#, "https://a.example/", ["openid"]),
      ]
      let asked = audiences.prefix(chance.number(2...5)).map { audience in
        let requests = crowd.ask(chance.number(1...3), "token.get", #"{"account":"work"\#(audience.members)}"#)
        return (audience, requests)
      }
      var tokens: Set<String?> = []
      for (audience, requests) in asked {
        let answers = await crowd.answers(requests)
        #expect(Set(answers.map { $0["accessToken"] }).count == 1)
        tokens.insert(answers[0]["accessToken"])
        for answer in answers {
          #expect(scene.works(answer), "\(answer)")
          #expect(answer["resource"] == nil, "neither the answer nor an opaque token shows it")
          if let scopes = audience.scopes { #expect(answer.scopes == scopes) }
        }
      }
      #expect(tokens.count == asked.count)
      #expect(scene.refreshes.count == asked.count)
      #expect(Set(scene.refreshes.map(\.refreshToken)).count == asked.count, "each was the only one")
      for (audience, _) in asked {
        #expect(try await scene.token(audience.members)["source"] == "cache", "each is kept by itself")
      }
      try await scene.livesOn()
    }
  }

  /// A minimum lifetime above the provider's token lifetime is met by any fresh token, without an exchange per call.
  @Test func minimumLifetimeAboveTheTokensLifetime_makesNoExchangePerCall() async throws {
    try await everySeed { world, chance in
      var options = Scene.options
      let lifetime = chance.number(30...600)
      options.accessTokenLifetimeSeconds = lifetime
      let scene = try await Scene.signedIn(world, options: options)
      let wish = #","minimumLifetimeSeconds":\#(lifetime + chance.number(1...5000))"#
      for _ in 0..<chance.number(1...5) { #expect(scene.works(try await scene.token(wish))) }
      #expect(scene.refreshes.isEmpty)
      await scene.expireUnused()
      let before = scene.refreshes.count
      let crowd = try Crowd(world, clients: 2)
      let answers = await crowd.answers(
        crowd.ask(chance.number(1...8), "token.get", #"{"account":"work"\#(wish)}"#))
      #expect(Set(answers.map { $0["accessToken"] }).count == 1)
      for answer in answers {
        #expect(scene.works(answer), "\(answer)")
        #expect((1...Int64(lifetime)).contains(answer.result?["expiresInSeconds"]?.integerValue ?? 0), "\(answer)")
      }
      for _ in 0..<3 { #expect(try await scene.token(wish)["source"] == "cache") }
      #expect(scene.refreshes.count == before + 1)
    }
  }

  /// Both callers that began an exchange cancel it on its way: its result is kept all the same.
  @Test func exchangeWhoseCallersCancelled_keepsItsResult() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: chance.one(of: Self.rotations))
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      let crowd = try Crowd(world, clients: 2)
      let method = chance.one(of: ["token.get", "token.refresh"])
      let requests = crowd.ask(2, method)
      let bystanders = try Crowd(world, clients: 2)
      let joined = bystanders.ask(chance.number(0...3), method)
      await world.clock.sleep(for: chance.milliseconds(1...90))  // from its first moment to after its end
      var answered = 2
      for request in requests {
        guard chance.number(0...3) > 0 else {
          request.client.disconnect()
          answered -= 1
          continue
        }
        request.client.cancel(request.id)
        let answer = await request.client.answer(to: request.id)
        // The result, if that came first.
        if answer.error != nil { answer.isExpected(1004) } else { #expect(scene.works(answer)) }
      }
      for answer in await bystanders.answers(joined) { #expect(scene.works(answer), "\(answer)") }
      bystanders.wasAnsweredOnce(joined.count)
      await world.clock.sleep(for: .seconds(1))
      let kept = try await scene.token()
      #expect(kept["source"] == "cache", "\(kept)")
      #expect(scene.works(kept))
      #expect(scene.refreshes.count == 1)
      #expect(witness.refreshes == 1)
      if answered == 2 { crowd.wasAnsweredOnce(2) }
      try await scene.livesOn()
    }
  }
}
