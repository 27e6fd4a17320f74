import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// A person locks, unlocks and signs out while tokens are fetched.
@Suite(.tellsItsSeed) struct PeopleScenarios {
  private static func call(
    _ world: SimulatedWorld, _ method: String, _ params: String = "{}"
  ) async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call(method, params)
  }

  /// While the vault is locked, every token method reports it at once, and nothing is sent.
  private func isLocked(_ scene: Scene, _ chance: Chance) async throws {
    let world = scene.world
    let (sent, start) = (world.network.sent.count, world.clock.boot())
    let crowd = try Crowd(world, clients: chance.number(1...3))
    var asked = crowd.ask(chance.number(1...4)) + crowd.ask(chance.number(0...2), "token.refresh")
    asked += crowd.ask(1, "token.reject", scene.rejecting("AAAAAAAAAAAAAAAA")) + crowd.ask(1, "session.get")
    for answer in await crowd.answers(asked) { answer.isExpected(1001) }
    #expect(world.clock.boot() == start)
    #expect(world.network.sent.count == sent)
    crowd.wasAnsweredOnce(asked.count)
  }

  @Test func vaultLockedAtTheStart_servesTokensAfterTheUnlock() async throws {
    try await everySeed { world, chance in
      let rotation = chance.one(of: CallerScenarios.rotations)
      let scene = try await Scene.signedIn(world, rotation: rotation)
      await scene.expireUnused()
      let dies = chance.one(of: [nil, Journal.staged, Journal.kept])
      if let dies {
        world.crash(at: .after(dies))
        #expect(try await scene.token().isLost)
      }
      // Nothing was opened before the lock: like a start with a passphrase, without the cost of Argon2id.
      try await world.restart()
      #expect(try await Self.call(world, "agent.lock")["locked"] == nil)
      try await self.isLocked(scene, chance)
      await world.clock.sleep(for: chance.seconds(0...600))
      try await self.isLocked(scene, chance)
      let witness = try await Witness.at(world)
      #expect(try await Self.call(world, "agent.unlock").error == nil)
      #expect(witness.received("agent.unlocked").count == 1)
      let crowd = try Crowd(world, clients: 2)
      for answer in await crowd.answers(crowd.ask(chance.number(1...5))) { #expect(scene.works(answer), "\(answer)") }
      // A response staged before the death is resumed; a committed one is used.
      #expect(scene.refreshes.count == (dies == Journal.kept ? 2 : 1))
      try await scene.livesOn()
    }
  }

  /// The same with a passphrase, which is stretched for a tenth of a second each time.
  @Test func vaultUnderAPassphrase_servesTokensAfterTheUnlock() async throws {
    try await everySeed(20, protection: "passphrase") { world, chance in
      let right = #"{"passphrase":"correct horse battery staple"}"#
      let made = try await Self.call(
        world, "agent.initialize", #"{"protection":"passphrase","passphrase":"correct horse battery staple"}"#)
      #expect(made.error == nil, "\(made)")
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      try await world.restart()
      try await self.isLocked(scene, chance)
      #expect(try await Self.call(world, "agent.unlock", #"{"passphrase":"wrong"}"#).code == 1008)
      try await self.isLocked(scene, chance)
      await world.clock.sleep(for: .seconds(10))
      #expect(try await Self.call(world, "agent.unlock", right).error == nil)
      #expect(scene.works(try await scene.token()))
      #expect(scene.refreshes.count == 1)
    }
  }

  /// The sign-out takes effect at once, and a late answer of the provider is revoked.
  @Test func signOutDuringARefresh_revokesTheLateAnswer() async throws {
    try await everySeed { world, chance in
      // Where a revocation reaches one token only, the late successor must be revoked separately.
      var options = Scene.options
      options.revocationReach = chance.one(of: [.token, .token, .family, .grant])
      let scene = try await Scene.signedIn(world, rotation: chance.one(of: CallerScenarios.rotations), options: options)
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      let crowd = try Crowd(world, clients: 2)
      // By its id: a hard sign-out takes the alias away.
      let waiting = crowd.ask(chance.number(1...5), "token.get", #"{"account":"\#(scene.account)"}"#)
      await world.clock.sleep(for: chance.milliseconds(0...90))
      let mode = chance.one(of: ["soft", "hard", "offline"])
      let out = try await Self.call(world, "account.signOut", #"{"account":"\#(scene.account)","mode":"\#(mode)"}"#)
      #expect(out["mode"] == mode, "\(out)")
      for answer in await crowd.answers(waiting) {
        // The token, if the answer came first.
        if answer.error != nil {
          answer.isExpected(2003, account: scene.account)
        } else {
          #expect(answer["source"] == "refreshed", "\(answer)")
        }
      }
      crowd.wasAnsweredOnce(waiting.count)
      let sent = scene.refreshes.count
      #expect(sent <= 1)
      for method in ["token.get", "token.refresh"] {
        try await scene.token(method: method).isExpected(2003, account: scene.account)
      }
      #expect(try await scene.session()["state"] == "signedOut")
      #expect(witness.states == ["signedOut"])
      #expect(witness.received("account.signedOut").count == 1)
      // Once the answer has come; the answer to a dead process is lost.
      await world.clock.sleep(for: .seconds(1))
      if chance.coin() { try await world.restart() }
      // Revocations queued offline are sent after a report of connectivity.
      if mode == "offline" { _ = try await Self.call(world, "connectivity.report", #"{"online":true}"#) }
      await world.clock.sleep(for: .seconds(120))
      #expect(scene.idp.activeRefreshTokens().isEmpty, "no live token is left at the provider")
      #expect(scene.refreshes.count == sent)
      #expect(witness.expiries == [], "a signed-out account asks for no sign-in")

      let again = try await world.signIn("alice", at: scene.provider)
      await world.clock.sleep(for: chance.seconds(0...3000))
      #expect(scene.works(try await scene.tokenOf(again)), "no late revocation ends the new sign-in")
    }
  }

  /// The keys are gone when the answer comes: the answer is there after the unlock, and no token was wasted.
  @Test func lockDuringAnExchange_keepsItsAnswer() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: chance.one(of: CallerScenarios.rotations))
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      let crowd = try Crowd(world, clients: 2)
      let waiting = crowd.ask(chance.number(1...5), chance.one(of: ["token.get", "token.refresh"]))
      await world.clock.sleep(for: chance.milliseconds(0...90))
      #expect(try await Self.call(world, "agent.lock").error == nil)
      for answer in await crowd.answers(waiting) {
        if answer.error != nil { answer.isExpected(1001) } else { #expect(scene.works(answer), "\(answer)") }
      }
      crowd.wasAnsweredOnce(waiting.count)
      let isBack = chance.coin()
      if !isBack { await world.clock.sleep(for: .seconds(1)) }
      await world.clock.sleep(for: chance.milliseconds(0...90))
      if !isBack { try await self.isLocked(scene, chance) }
      #expect(try await Self.call(world, "agent.unlock").error == nil)
      let after = try Crowd(world, clients: 2)
      let answers = await after.answers(after.ask(chance.number(1...5)))
      for answer in answers { #expect(scene.works(answer), "\(answer)") }
      #expect(Set(answers.map { $0["accessToken"] }).count == 1)
      #expect(witness.expiries == [])
      if scene.idp.options.rotation != .none {
        #expect(Set(scene.refreshes.map(\.refreshToken)).count == scene.refreshes.count, "none was sent twice")
      }
      try await scene.livesOn()
    }
  }
}
