import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// Tokens that are bound to a key (docs/dpop.md), at a provider whose nonces have always expired: it refuses the first
/// request of each exchange, and the agent sends a second one.
@Suite(.tellsItsSeed) struct BoundTokenScenarios {
  private static func scene(
    _ world: SimulatedWorld, rotation: RefreshTokenRotation, more: String? = nil
  ) async throws -> Scene {
    var options = Scene.options
    options.dpop = .nonce
    let rule =
      switch rotation {
      case .none, .renewed: #"{"reuse":"none"}"#
      case .grace(let seconds): #"{"reuse":"grace","graceSeconds":\#(seconds)}"#
      case .strict: #"{"reuse":"strict"}"#
      }
    let scene = try await Scene.signedIn(
      world, rotation: rotation, options: options, more: #","refresh":\#(rule)"# + (more ?? ""))
    await scene.expireUnused()
    return scene
  }

  private static let rotations: [RefreshTokenRotation] = [.strict, .grace(seconds: 3600), .none]

  @Test func refusedNonce_isOneExchangeForAllCallers() async throws {
    try await everySeed { world, chance in
      let scene = try await Self.scene(world, rotation: chance.one(of: Self.rotations))
      let crowd = try Crowd(world, clients: chance.number(1...3))
      let asked = crowd.ask(chance.number(1...6), chance.one(of: ["token.get", "token.refresh"]))
      for answer in await crowd.answers(asked) {
        #expect(scene.works(answer) && answer["tokenType"] == "DPoP", "\(answer)")
      }
      #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken, scene.firstRefreshToken])
      #expect(try await scene.generation() == 2)
      try await scene.livesOn()
    }
  }

  /// Up to the moment at which the provider processes the second request, the refresh token is not spent.
  @Test func killBeforeTheSecondRequestArrives_losesNoSession() async throws {
    try await everySeed { world, chance in
      let scene = try await Self.scene(world, rotation: chance.one(of: Self.rotations))
      let isSecond = chance.coin()
      if isSecond { world.network.next("/token", .delay(.zero)) }
      let kind = chance.number(isSecond ? 0...1 : 0...2)
      _ = try await scene.heldExchange(chance.one(of: ["token.get", "token.refresh"])) { gate in
        kind == 0 ? .heldWhileConnecting(gate) : kind == 1 ? .heldBefore(gate) : .heldAfter(gate)
      }
      try await world.restart()
      // A request takes up to 30 s. One that may have left is sent once more 15 to 30 s after that.
      await world.clock.sleep(for: .seconds(61))
      let answer = try await scene.token()
      #expect(scene.works(answer), "\(answer)")
      #expect(Set(scene.refreshes.map(\.refreshToken)) == [scene.firstRefreshToken])
      try await scene.livesOn()
    }
  }

  /// The answer to the second request is lost, by the network or by a kill: as after any lost answer.
  @Test func lostAnswerToTheSecondRequest_isAnUnknownOutcome() async throws {
    try await everySeed { world, chance in
      let scene = try await Self.scene(world, rotation: chance.one(of: [.grace(seconds: 3600), .none]))
      world.network.next("/token", .delay(.zero))
      if chance.coin() {
        _ = try await scene.heldExchange()
        try await world.restart()
      } else {
        world.network.next("/token", .lostAnswer(chance.one(of: [.reset, .timedOut])))
        _ = try await scene.token()
        // Refresh tokens that do not rotate are sent again after a pause.
        await world.clock.sleep(for: .seconds(60))
      }
      let answer = try await scene.token()
      #expect(scene.works(answer), "\(answer)")
      try await scene.livesOn()
    }
  }

  /// A refusal that is lost leaves a doubt, though nothing was spent: the replay shows it.
  @Test func lostRefusalOfANonce_endsNoSession() async throws {
    try await everySeed { world, chance in
      let scene = try await Self.scene(world, rotation: chance.one(of: Self.rotations))
      world.network.next("/token", .lostAnswer(chance.one(of: [.reset, .timedOut])))
      _ = try await scene.token()
      await world.clock.sleep(for: .seconds(60))
      let answer = try await scene.token()
      #expect(scene.works(answer), "\(answer)")
      try await scene.livesOn()
    }
  }

  @Test func signOutBetweenTheRequests_withholdsTheSecond() async throws {
    try await everySeed { world, chance in
      let scene = try await Self.scene(world, rotation: .strict)
      let (client, _, gate) = try await scene.heldExchange()
      let mode = chance.one(of: ["soft", "hard"])
      let ended = await client.call("account.signOut", #"{"account":"\#(scene.account)","mode":"\#(mode)"}"#)
      #expect(ended.error == nil, "\(ended)")
      gate.open()
      await world.clock.sleep(for: .seconds(30))
      #expect(scene.refreshes.count == 1)
      #expect(scene.idp.activeRefreshTokens().isEmpty)
      let proof = await client.call(
        "token.proof", #"{"account":"\#(scene.account)","method":"GET","url":"https://api.example/"}"#)
      #expect(proof.code == 2003, "\(proof)")
    }
  }

  /// Nonces work once, so that most of the requests are refused at first, and each is sent again with the nonce of its
  /// own refusal.
  @Test func writesAtOnce_areCarriedOutOnceEach() async throws {
    try await everySeed { world, chance in
      let scene = try await Self.scene(
        world, rotation: .strict, more: #","allowedOrigins":["https://idp.test"]"#)
      let clients = try (0..<chance.number(2...6)).map { _ in try world.client() }
      let request = #"{"account":"\#(scene.account)","method":"POST","url":"https://idp.test/protected","body":"x"}"#
      let sent = clients.map { ($0, $0.send("request.send", request)) }
      for (client, id) in sent {
        let answer = await client.answer(to: id)
        #expect(answer.result?["status"]?.integerValue == 200, "\(answer)")
        #expect(answer.result?["refreshed"]?.boolValue == false, "\(answer)")
      }
      #expect(scene.idp.protectedEffectCount == sent.count)
      #expect(scene.refreshes.count == 2, "a refused nonce is no refused token")
    }
  }
}
