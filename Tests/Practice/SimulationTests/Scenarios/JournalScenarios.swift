import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// A death, or a full disk, between any two steps of the journal (docs/tokens.md, Journal).
@Suite(.tellsItsSeed) struct JournalScenarios {
  static let rotations: [RefreshTokenRotation] = [.strict, .grace(seconds: 120), .none]

  /// Dies at `moment` of a refresh with several waiting callers, and starts again after `away`.
  private func killed(
    _ scene: Scene, _ chance: Chance, at moment: CommitMoment, away: Milliseconds = .zero, powerLost: Bool = false
  ) async throws {
    let world = scene.world
    let crowd = try Crowd(world, clients: chance.number(1...3))
    world.crash(at: moment)
    let asked = crowd.ask(chance.number(1...4), chance.one(of: ["token.get", "token.refresh"]))
    for answer in await crowd.answers(asked) { #expect(answer.isLost, "\(answer)") }
    #expect(!world.isRunning)
    if powerLost { world.crash(.powerLoss(seed: UInt64(chance.number(1...1000)))) }
    if away > .zero { world.clock.suspend(for: away) }
    try await world.restart()
  }

  @Test func killBeforeSending_losesNoToken() async throws {
    try await everySeed { world, chance in
      let rotation = chance.one(of: Self.rotations)
      let scene = try await Scene.signedIn(world, rotation: rotation)
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      let moment = chance.one(of: [
        CommitMoment.before(Journal.intent), .after(Journal.intent), .before(Journal.mark),
      ])
      try await self.killed(scene, chance, at: moment, away: chance.seconds(0...5000))
      #expect(scene.refreshes.isEmpty, "nothing was sent")
      // The agent may end again, and the machine with it, before a token is asked for.
      if chance.coin() {
        try await scene.hasNoDoubt()
        world.crash(chance.coin() ? .kill : .powerLoss(seed: UInt64(chance.number(1...1000))))
        try await world.restart()
      }
      let answer = try await scene.token()
      #expect(answer["source"] == "refreshed", "\(answer)")
      #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken])
      #expect(witness.expiries == [])
      try await scene.livesOn()
    }
  }

  /// The mark is in the journal: whether the request left can't be known.
  @Test func killAfterTheMark_isAnUnknownOutcome() async throws {
    try await everySeed { world, chance in
      let rotation = chance.one(of: Self.rotations)
      let scene = try await Scene.signedIn(world, rotation: rotation)
      await scene.expireUnused()
      try await self.killed(scene, chance, at: .after(Journal.mark))
      #expect(scene.refreshes.isEmpty)
      guard rotation != .strict else { return try await scene.expectUnknownOutcome(sent: 0) }
      #expect(scene.works(try await scene.token()))
      try await scene.livesOn()
    }
  }

  /// In another boot a missing mark proves nothing: the power may have taken it.
  @Test func rebootBeforeTheMark_isAnUnknownOutcome() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      let moment = chance.one(of: [
        CommitMoment.after(Journal.intent), .before(Journal.mark), .after(Journal.mark),
      ])
      try await self.killed(scene, chance, at: moment, away: chance.seconds(0...100), powerLost: true)
      try await scene.expectUnknownOutcome(sent: 0)
    }
  }

  /// The power takes the mark of a request that left: it is not sent again.
  @Test func markLostWithThePower_isAnUnknownOutcome() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      let gate = Gate()
      world.network.next("/token", .heldAfter(gate))
      let crowd = try Crowd(world, clients: 1)
      let asked = crowd.ask(1)
      await gate.reached()
      world.crash(.powerLoss(seed: UInt64(chance.number(1...1000))))
      gate.open()
      for answer in await crowd.answers(asked) { #expect(answer.isLost, "\(answer)") }
      try await world.restart()
      try await scene.expectUnknownOutcome(sent: 1)
    }
  }

  /// A kill before a replay leaves takes nothing from the right to it, and does not lose the time of the first request.
  @Test func killBeforeAReplayLeaves_losesNoToken() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: .grace(seconds: 120))
      await scene.expireUnused()
      try await self.killed(scene, chance, at: .before(Journal.staged))
      #expect(scene.refreshes.count == 1)
      // The doubt is made durable with the first word about the account.
      _ = try await scene.session()
      for _ in 0..<chance.number(1...3) {
        try await self.killed(
          scene, chance, at: chance.coin() ? .after(Journal.intent) : .before(Journal.mark),
          away: chance.seconds(0...10))
        #expect(scene.refreshes.count == 1, "the replay never left")
        _ = try await scene.session()
      }
      #expect(scene.works(try await scene.token()))
      #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken, scene.firstRefreshToken])
      try await scene.livesOn()
    }
  }

  /// The disk takes the intent and not the mark: nothing is sent, and nothing is in doubt.
  @Test func diskFailingAtTheMark_spendsNoToken() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      let failure = chance.one(of: [StoreFailure.full, .inputOutput])
      world.failCommit(Journal.mark, with: failure)
      try await scene.token().isExpected(
        5001, reason: failure == .full ? "diskFull" : "inputOutput", account: scene.account, pause: 1...60_000)
      #expect(scene.refreshes.isEmpty)
      switch chance.number(0...2) {
      case 0: try await world.restart()
      case 1:
        world.crash(.powerLoss(seed: UInt64(chance.number(1...1000))))
        try await world.restart()
      default: await world.clock.sleep(for: chance.seconds(6...60))
      }
      #expect(scene.works(try await scene.token()))
      #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken])
      try await scene.livesOn()
    }
  }

  @Test func killBeforeStagingUnderStrictRotation_isAnUnknownOutcome() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      try await self.killed(
        scene, chance, at: .before(Journal.staged), away: chance.seconds(0...100), powerLost: chance.coin())
      try await scene.expectUnknownOutcome(sent: 1)
    }
  }

  @Test func killBeforeStagingUnderGrace_isReplayedInTime() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: .grace(seconds: 120))
      await scene.expireUnused()
      // The agent uses half of the grace; the other half is for the request's way.
      let isInTime = chance.coin()
      try await self.killed(
        scene, chance, at: .before(Journal.staged), away: isInTime ? chance.seconds(0...59) : chance.seconds(61...500))
      guard isInTime else { return try await scene.expectUnknownOutcome(sent: 1) }
      let crowd = try Crowd(world, clients: 2)
      let answers = await crowd.answers(crowd.ask(chance.number(1...5)))
      for answer in answers { #expect(scene.works(answer), "\(answer)") }
      #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken, scene.firstRefreshToken])
      #expect(scene.idp.activeRefreshTokens().count == 1)
      try await scene.livesOn()
    }
  }

  @Test func killBeforeStagingWithoutRotation_losesNoToken() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: .none)
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      try await self.killed(
        scene, chance, at: .before(Journal.staged), away: chance.seconds(0...5000), powerLost: chance.coin())
      #expect(scene.works(try await scene.token()))
      #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken, scene.firstRefreshToken])
      #expect(witness.expiries == [])
      try await scene.livesOn()
    }
  }

  @Test func killAfterStaging_losesNoToken() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: chance.one(of: Self.rotations))
      await scene.expireUnused()
      let powerLost = chance.number(0...2) == 0
      try await self.killed(
        scene, chance, at: chance.coin() ? .after(Journal.staged) : .before(Journal.kept),
        away: chance.seconds(0...600), powerLost: powerLost)
      let crowd = try Crowd(world, clients: 2)
      let answers = await crowd.answers(crowd.ask(chance.number(1...5)))
      for answer in answers { #expect(scene.works(answer), "\(answer)") }
      // After a reboot the age of the access token is unknown: its refresh token is used, once.
      #expect(scene.refreshes.count == (powerLost ? 2 : 1))
      if powerLost, scene.idp.options.rotation != .none {
        #expect(scene.refreshes.last?.refreshToken != scene.firstRefreshToken)
      }
      try await scene.livesOn()
    }
  }

  @Test func killAfterTheCommit_losesNoToken() async throws {
    try await everySeed { world, chance in
      let rotation = chance.one(of: Self.rotations)
      let scene = try await Scene.signedIn(world, rotation: rotation)
      let generation = try await scene.generation()
      await scene.expireUnused()
      try await self.killed(
        scene, chance, at: .after(Journal.kept), away: chance.seconds(0...5000), powerLost: chance.coin())
      #expect(try await scene.generation() == generation + 1)
      // Access tokens are in memory only.
      #expect(scene.works(try await scene.token()))
      #expect(scene.refreshes.count == 2)
      if rotation != .none { #expect(scene.refreshes[1].refreshToken != scene.firstRefreshToken) }
      try await scene.livesOn()
    }
  }

  @Test func diskFullWhileStaging_keepsTheAnswer() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: chance.one(of: Self.rotations))
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      let commit = chance.one(of: [Journal.staged, Journal.kept])
      let failure = chance.one(of: [StoreFailure.full, .inputOutput])
      world.failCommit(commit, with: failure)
      let crowd = try Crowd(world, clients: 2)
      let asked = chance.number(1...5)
      for answer in await crowd.answers(crowd.ask(asked)) {
        answer.isExpected(
          5001, reason: failure == .full ? "diskFull" : "inputOutput", account: scene.account, pause: 1...60_000)
      }
      #expect(
        try await scene.session().json["result", "refresh", "lastError", "name"]?.stringValue == "storeUnavailable")
      #expect(scene.refreshes.count == 1)

      // A staged answer survives the process; before that it is in memory, and stored as soon as there is room.
      if commit == Journal.kept, chance.coin() {
        try await world.restart()
      } else {
        await world.clock.sleep(for: chance.seconds(6...60))
      }
      let later = try await scene.token()
      #expect(scene.works(later), "\(later)")
      #expect(scene.refreshes.count == 1, "the answer was kept")
      #expect(witness.expiries == [])
      crowd.wasAnsweredOnce(asked)
      try await scene.livesOn()
    }
  }

  /// The disk is full before sending: no token is spent, and cached tokens are served.
  @Test func diskFullBeforeSending_spendsNoToken() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      let cached = try await world.signIn("bob", at: scene.provider, alias: "cached")
      let before = scene.refreshes.count
      world.disk.setCapacity(world.disk.bytes().count + chance.number(0...4000))
      for _ in 0..<chance.number(1...4) {
        try await scene.token().isExpected(5001, reason: "diskFull", account: scene.account, pause: 1...60_000)
        #expect(try await scene.tokenOf(cached)["source"] == "cache")
        await world.clock.sleep(for: chance.seconds(0...60))
      }
      #expect(scene.refreshes.count == before, "nothing is spent that could not be kept")
      world.disk.setCapacity(nil)
      await world.clock.sleep(for: .seconds(301))
      #expect(scene.works(try await scene.token()))
      try await scene.livesOn()
    }
  }

  /// `retryAfterMs` of 5001 is the truth: the agent heals within it, and a retry after it succeeds.
  @Test func retryAfterOfAFullDisk_isWhenARetrySucceeds() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      // Also without the space that the sign-in reserved.
      let reserved = world.disk.fileNames.filter { $0.hasSuffix("-reserve") }.map { world.disk.bytes(of: $0).count }
      world.disk.setCapacity(world.disk.bytes().count - reserved.reduce(0, +))
      let client = try world.client()
      let rename = #"{"account":"\#(scene.account)","alias":"job"}"#
      let (asks, renames) = (chance.number(1...3), chance.coin())
      func ask() async throws -> SimulatedAnswer {
        if renames { return await client.call("account.rename", rename) }
        return try await scene.token()
      }
      var told = Milliseconds.zero
      for _ in 0..<asks {
        let answer = try await ask()
        answer.isExpected(5001, reason: "diskFull", account: scene.account, pause: 1...1_000)
        told = Milliseconds(try #require(answer.retryAfterMs))
        await world.clock.sleep(for: chance.seconds(0...2))
      }
      #expect(try await ask().code == 5001)
      world.disk.setCapacity(nil)
      await world.clock.sleep(for: told)
      #expect(try await ask().error == nil)
      #expect(scene.works(try await scene.token()))
    }
  }

  /// The same where the disk is full only when the answer is stored: it is in memory, and stored within the pause.
  @Test func retryAfterOfADiskThatIsFullWhileStaging_isWhenARetrySucceeds() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.failCommit(chance.one(of: [Journal.staged, Journal.kept]), with: .full)
      let answer = try await scene.token()
      answer.isExpected(5001, reason: "diskFull", account: scene.account, pause: 1...1_000)
      await world.clock.sleep(for: Milliseconds(try #require(answer.retryAfterMs)))
      #expect(scene.works(try await scene.token()))
      #expect(scene.refreshes.count == 1, "the answer was kept")
    }
  }

  /// In the last minutes of a token, too: an exchange that can't begin does no harm.
  @Test func staleTokenOnAFullDisk_isServed() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      let token = try await scene.token()["accessToken"]
      world.disk.setCapacity(world.disk.bytes().count)
      await world.clock.sleep(for: chance.seconds(3300...3590))
      for _ in 0..<chance.number(1...4) {
        let stale = try await scene.token(#","minimumLifetimeSeconds":1"#)
        #expect(stale["accessToken"] == token, "\(stale)")
        await world.clock.sleep(for: chance.milliseconds(0...2000))
      }
      #expect(scene.refreshes.isEmpty)
      world.disk.setCapacity(nil)
      try await scene.livesOn()
    }
  }
}
