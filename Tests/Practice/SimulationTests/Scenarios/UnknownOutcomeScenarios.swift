import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Requests whose answer never comes, however the provider handled them (docs/tokens.md, Unknown outcome).
@Suite(.tellsItsSeed) struct UnknownOutcomeScenarios {
  /// The token is served until it expires; then the person is asked, once.
  @Test func timeoutUnderStrictRotation_servesTheTokenUntilItExpires() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      let lost = chance.one(of: [HTTPOutcome.LostResponse.timedOut, .reset])
      world.network.next("/token", chance.coin() ? .lostAnswer(lost) : .lostRequest(lost))
      let witness = try await Witness.at(world)
      // In the last five minutes of the token, a request starts a refresh.
      await world.clock.sleep(for: .seconds(3300) + chance.seconds(1...60))
      let stale = #","minimumLifetimeSeconds":1"#
      #expect(try await scene.token(stale)["source"] == "cache")
      await world.clock.sleep(for: chance.seconds(31...100))
      #expect(scene.refreshes.count == 1)
      for _ in 0..<chance.number(1...4) {
        let answer = try await scene.token(stale)
        #expect(scene.works(answer), "\(answer)")
        #expect(answer["source"] == "staleOk", "\(answer)")
      }
      #expect(try await scene.session().json["result", "refresh", "phase"]?.stringValue == "inDoubt")
      #expect(scene.refreshes.count == 1)
      await world.clock.sleep(for: .seconds(301))

      let crowd = try Crowd(world, clients: 2)
      let asked = chance.number(1...6)
      for answer in await crowd.answers(crowd.ask(asked, chance.one(of: ["token.get", "token.refresh"]))) {
        answer.isExpected(2004, reason: "outcomeUnknown", account: scene.account)
      }
      crowd.wasAnsweredOnce(asked)
      #expect(try await scene.session()["state"] == "reauthenticationRequired")
      #expect(witness.expiries == ["outcomeUnknown"])
      #expect(witness.states == ["reauthenticationRequired"])
      try await world.restart()
      let afterwards = try await Witness.at(world)
      try await scene.token().isExpected(2004, reason: "outcomeUnknown", account: scene.account)
      #expect(afterwards.expiries == [], "reported once, over all restarts")
      #expect(scene.refreshes.count == 1)
      #expect(scene.idp.endOfGrant(scene.grant) == nil)

      try await scene.signsInAgain()
    }
  }

  /// One replay, within half of the grace by the clock that counts sleep.
  @Test func graceElapsedAsleep_isNotReplayed() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: .grace(seconds: 120))
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      let gate = Gate()
      world.network.next("/token", .heldAfter(gate))
      let crowd = try Crowd(world, clients: 2)
      let asked = crowd.ask(chance.number(1...4), "token.get", #"{"account":"work","timeoutSeconds":3600}"#)
      await gate.reached()
      // The machine sleeps while the answer is on its way; the request times out.
      let isInTime = chance.coin()
      world.clock.suspend(for: isInTime ? chance.seconds(31...58) : chance.seconds(61...3000))
      let answers = await crowd.answers(asked)
      if isInTime {
        for answer in answers { #expect(scene.works(answer), "\(answer)") }
        #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken, scene.firstRefreshToken])
        #expect(witness.expiries == [])
        try await scene.livesOn()
      } else {
        for answer in answers { answer.isExpected(2004, reason: "outcomeUnknown", account: scene.account) }
        #expect(witness.expiries == ["outcomeUnknown"])
        try await world.restart()
        try await scene.token().isExpected(2004, reason: "outcomeUnknown", account: scene.account)
        #expect(scene.refreshes.count == 1)
        #expect(scene.idp.endOfGrant(scene.grant) == nil)
      }
      gate.open()
      crowd.wasAnsweredOnce(asked.count)
    }
  }

  /// After a reboot the time of sending is unknown, so the grace counts as over.
  @Test func rebootDuringAnUnknownOutcome_isNotReplayed() async throws {
    try await everySeed { world, chance in
      let rotation = chance.one(of: [RefreshTokenRotation.strict, .grace(seconds: 60), .none])
      let scene = try await Scene.signedIn(world, rotation: rotation)
      await scene.expireUnused()
      if chance.coin() {
        world.crash(at: .before(Journal.staged))
        #expect(try await scene.token().isLost)
      } else {
        // Where a replay is allowed it is lost, too, or finds no connection.
        world.network.next("/token", .lostAnswer(.reset))
        world.network.next("/token", chance.coin() ? .lostRequest(.reset) : .notConnected(.refused))
        #expect(try await scene.token().error != nil)
        world.network.clearIncidents()
      }
      let sent = scene.refreshes.count
      world.crash(.powerLoss(seed: UInt64(chance.number(1...1000))))
      world.clock.suspend(for: chance.seconds(31...90_000))
      // A machine with an empty clock battery may start in the past.
      if chance.coin() { world.clock.setWall(world.clock.wall() + (.zero - chance.seconds(0...7200))) }
      try await world.restart()
      if rotation == .none {
        #expect(scene.works(try await scene.token()))
        return try await scene.livesOn()
      }
      for method in ["token.get", "token.refresh"] {
        try await scene.token(method: method).isExpected(2004, reason: "outcomeUnknown", account: scene.account)
      }
      #expect(scene.refreshes.count == sent)
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
      try await scene.signsInAgain()
    }
  }

  /// An unusable response: its content is unknown.
  private func spoiled(_ effects: [Fault.Effect]) async throws {
    try await everySeed { world, chance in
      let rotation = chance.one(of: [RefreshTokenRotation.strict, .grace(seconds: 300), .none])
      let scene = try await Scene.signedIn(world, rotation: rotation)
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      scene.idp.enqueueFault("/token", Fault(chance.one(of: effects)))
      let crowd = try Crowd(world, clients: 2)
      let asked = chance.number(1...5)
      // A caller waits longer than a request to the provider may take.
      let waits = #"{"account":"work","timeoutSeconds":120}"#
      let answers = await crowd.answers(crowd.ask(asked, "token.get", waits))
      crowd.wasAnsweredOnce(asked)
      switch rotation {
      case .strict:
        for answer in answers { answer.isExpected(2004, reason: "outcomeUnknown", account: scene.account) }
        #expect(witness.expiries == ["outcomeUnknown"])
        #expect(scene.refreshes.count == 1)
        try await world.restart()
        try await scene.token().isExpected(2004, reason: "outcomeUnknown", account: scene.account)
        #expect(scene.refreshes.count == 1)
        #expect(scene.idp.endOfGrant(scene.grant) == nil)
      case .grace:
        for answer in answers { #expect(scene.works(answer), "\(answer)") }
        #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken, scene.firstRefreshToken])
        #expect(witness.expiries == [])
        try await scene.livesOn()
      case .none, .renewed:
        for answer in answers { answer.isExpected(3002, account: scene.account, pause: 1...600_000) }
        await world.clock.sleep(for: .seconds(2))
        #expect(scene.works(try await scene.token()))
        #expect(witness.expiries == [])
        try await scene.livesOn()
      }
    }
  }

  @Test func oversizedAnswer_isAnUnknownOutcome() async throws { try await spoiled([.hugeBody(bytes: (1 << 20) + 1)]) }

  @Test func unfinishedAnswer_isAnUnknownOutcome() async throws {
    try await spoiled([
      .endlessBody, .hangBeforeProcessing, .hangAfterProcessing, .truncatedBody(bytes: 40), .dropAfterProcessing,
    ])
  }
}
