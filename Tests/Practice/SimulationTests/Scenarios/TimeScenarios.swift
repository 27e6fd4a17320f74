import AgentModel
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Wall clocks that jump, and servers with wrong clocks (docs/offline.md, Time).
@Suite(.tellsItsSeed) struct TimeScenarios {
  static let day = Milliseconds.seconds(86_400)
  /// The resolution of `Date`, and the round trip.
  static let precision = -1100...1100 as ClosedRange<Int64>

  /// The clock state that a client sees, with the events about its changes.
  private final class Watch: Sendable {
    let scene: Scene
    let client: SimulatedClient

    init(_ scene: Scene) async throws {
      self.scene = scene
      client = try scene.world.client()
      let answer = await client.call("event.subscribe", #"{"types":["clock.suspect"]}"#)
      #expect(answer.error == nil)
    }

    /// The events since the last call, in order: `suspect 259200` or `trusted`.
    func changes() async -> [String] {
      _ = await client.call("connectivity.get")
      return client.takeLines().compactMap { line in
        guard let data = PracticeJSON(line: Array(line.utf8))?["params", "data"], let clock = data["clock"]?.stringValue
        else { return nil }
        return clock + (data["behindSeconds"]?.integerValue.map { " \($0)" } ?? "")
      }
    }

    func session() async throws -> (clock: String?, offset: Int64?) {
      let answer = try await scene.session()
      return (answer["clock"], answer.result?["serverTimeOffsetMs"]?.integerValue)
    }

    /// Sets the wall clock against the true time. Sometimes the kernel's signal comes first, sometimes a request.
    func setWall(_ error: Milliseconds, _ chance: Chance) {
      scene.world.setWall(aheadBy: error, isTold: chance.coin())
    }
  }

  /// The access token's lifetime follows the boot clock, under any wall clock.
  private func livesItsTime(
    _ scene: Scene, _ watch: Watch, _ chance: Chance, errors: [Milliseconds]
  ) async throws {
    let lifetime = Int64(scene.idp.options.accessTokenLifetimeSeconds)
    let forced = try await scene.token(method: "token.refresh")
    let sentAt = try #require(scene.refreshes.last?.at)
    let fingerprint = forced["fingerprint"]
    for error in errors {
      await scene.world.clock.sleep(for: chance.seconds(1...200))
      watch.setWall(error, chance)
      let answer = try await scene.token()
      let left = sentAt + .seconds(lifetime) - scene.world.clock.boot()
      #expect(answer.result?["expiresInSeconds"]?.integerValue == left.wholeSeconds, "\(answer)")
      #expect(answer["fingerprint"] == fingerprint)
    }
    #expect(try await scene.session()["freshness"] == "fresh")
  }

  @Test func clockSetBackInTheSameBoot_isSuspectAndChangesNoLifetime() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      let watch = try await Watch(scene)
      #expect(try await watch.session() == ("trusted", 0))
      try await self.livesItsTime(scene, watch, chance, errors: [Self.day * -3, Self.day * -3 + .seconds(7)])
      #expect(try await watch.session() == ("suspect", 3 * 86_400_000 - 7000))
      let told = await watch.changes()
      #expect(told == ["suspect 259200"] || told == ["suspect 259193"], "once, when it was found out: \(told)")
      // It stays suspect over a restart of the agent, which sends no event about it.
      if chance.coin() { try await world.restart() } else { watch.setWall(.zero, chance) }
      let again = try await Watch(scene)
      let isMended = world.clock.wall() == world.clock.trueTime
      #expect(try await again.session().clock == (isMended ? "trusted" : "suspect"))
      if isMended { #expect(await watch.changes() == ["trusted"]) }
      try await scene.livesOn()
    }
  }

  @Test func clockSetBackOverAReboot_isSuspectUntilAServersDate() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      let wasOnline = try #require(try await scene.session()["lastOnlineAuthAt"])
      #expect(wasOnline.hasPrefix("2030-01-01"))
      world.crash(chance.coin() ? .kill : .powerLoss(seed: world.seed))
      world.clock.reboot(after: chance.seconds(1...5000))
      world.setWall(aheadBy: Self.day * -3, isTold: chance.coin())
      try await world.restart()
      let watch = try await Watch(scene)
      let session = try await watch.session()
      #expect(session.clock == "suspect")
      #expect(session.offset == nil, "no server told the time in this boot")
      // By the server's time nothing changed; the wall clock stays wrong by an offset that is known now.
      let answer = try await scene.token()
      #expect(answer["source"] == "refreshed", "\(answer)")
      let after = try await watch.session()
      #expect(after.clock == "trusted")
      #expect(after.offset.map { Self.precision.contains($0 - 3 * 86_400_000) } == true, "\(after)")
      try await self.livesItsTime(scene, watch, chance, errors: [.seconds(-121), .seconds(-200)])
      watch.setWall(.zero, chance)
      #expect(try await watch.session().clock == "trusted")
      #expect(await watch.changes() == ["trusted"])
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  @Test func clockSetForwardInTheSameBoot_changesNothing() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      let watch = try await Watch(scene)
      // A server's date is known in this boot: the wall clock changes nothing.
      try await self.livesItsTime(scene, watch, chance, errors: [Self.day * 365, .zero, Self.day * 366, .zero])
      #expect(try await watch.session() == ("trusted", 0))
      #expect(await watch.changes().isEmpty)
      watch.setWall(Self.day * 365, chance)
      // A sign-in during that year, at a provider with a date, is dated now.
      let other = try await world.signIn("bob", at: scene.provider)
      watch.setWall(.zero, chance)
      let answer = try await world.client().call("session.get", #"{"account":"\#(other)"}"#)
      #expect(answer["lastOnlineAuthAt"]?.hasPrefix("2030-01-01") == true, "\(answer)")
      #expect(answer["clock"] == "trusted")
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  @Test func clockSetForwardAfterAReboot_isCorrectedByAServersDate() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      let generation = try await scene.generation()
      world.crash()
      world.clock.reboot(after: chance.seconds(1...5000))
      let inTime = chance.coin()
      if inTime { world.clock.setWall(world.clock.trueTime + Self.day * 365) }
      try await world.restart()
      if !inTime {
        // Set forward while the agent runs, before any server's date.
        await world.clock.sleep(for: .seconds(1))
        world.setWall(aheadBy: Self.day * 365)
        await world.clock.sleep(for: .seconds(1))
      }
      #expect(try await scene.session()["clock"] == "trusted", "ahead is not under the mark")
      world.setWall(aheadBy: .zero, isTold: chance.coin())
      // Neither setting the clock back, nor a restart, nor a reboot lowers the mark.
      let end = chance.number(0...2)
      if end > 0 { world.crash() }
      if end > 1 { world.clock.reboot() }
      if end > 0 { try await world.restart() }
      let watch = try await Watch(scene)
      #expect(try await watch.session().clock == "suspect")
      _ = await watch.changes()
      let answer = try await scene.token()
      #expect(scene.works(answer), "\(answer)")
      #expect(try await watch.session() == ("trusted", 0), "the server's time lowers it")
      #expect(await watch.changes() == ["trusted"])
      #expect(try await scene.generation() == generation + 1)
      try await scene.livesOn()
    }
  }

  @Test func serverClockOffByAnHour_shiftsItsOwnAccountsOnly() async throws {
    try await everySeed { world, chance in
      let hours: Int64 = chance.coin() ? 1 : -1
      var options = Scene.options
      options.clockOffsetMilliseconds = hours * 3_600_000
      let scene = try await Scene.signedIn(world, options: options)
      let watch = try await Watch(scene)
      var session = try await watch.session()
      #expect(session.offset.map { Self.precision.contains($0 - hours * 3_600_000) } == true, "\(session)")
      #expect(session.clock == "trusted", "the difference is known")
      try await self.livesItsTime(scene, watch, chance, errors: [.seconds(-7), .seconds(5), .zero])
      // Only its own accounts use its time.
      let other = try await world.provider("other")
      let bob = try await world.signIn("bob", at: other)
      let answer = try await world.client().call("session.get", #"{"account":"\#(bob)"}"#)
      #expect(answer.result?["serverTimeOffsetMs"]?.integerValue.map(Self.precision.contains) == true, "\(answer)")
      #expect(answer["clock"] == "trusted")
      // Once corrected, its next answer is believed.
      scene.idp.setClockOffset(milliseconds: 0)
      #expect(scene.works(try await scene.token(method: "token.refresh")))
      session = try await watch.session()
      #expect(session.offset.map(Self.precision.contains) == true, "\(session)")
      #expect(session.clock == "trusted")
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  /// Changes of the wall clock during use cost no exchange and no token.
  @Test func wallClockChanges_changeNoTokenLifetime() async throws {
    try await everySeed { world, chance in
      var options = Scene.options
      options.sendsDate = chance.coin()
      let scene = try await Scene.signedIn(world, options: options)
      let watch = try await Watch(scene)
      let errors = (0..<8).map { _ in
        chance.one(of: [.zero, .seconds(-119), .seconds(-3600), Self.day * -4000, .seconds(3600), Self.day * 4000])
      }
      try await self.livesItsTime(scene, watch, chance, errors: errors)
      #expect(scene.refreshes.count == 1, "the one that was forced")
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
      let told = await watch.changes()
      for (one, next) in zip(told, told.dropFirst()) {
        #expect(one.hasPrefix("suspect") != next.hasPrefix("suspect"), "each change once: \(told)")
      }
    }
  }

  /// A machine with a wrong clock signs in where the server sends a date.
  @Test func signInWithAWrongClock_worksWithAServersDate() async throws {
    try await everySeed { world, chance in
      let error = chance.one(of: [Self.day * -3000, .seconds(-7200), .seconds(7200), Self.day * 3000])
      world.setWall(aheadBy: error, isTold: chance.coin())
      let scene = try await Scene.signedIn(world)
      let session = try await scene.session()
      let offset = session.result?["serverTimeOffsetMs"]?.integerValue
      #expect(offset.map { Self.precision.contains($0 + error.count) } == true, "\(session)")
      #expect(session["clock"] == "trusted", "the difference is known")
      #expect(scene.works(try await scene.token()))
    }
  }

  /// Without a server's date, a clock that is ahead makes the ID token look expired: the sign-in fails with the reason.
  /// A clock that is behind does no harm.
  @Test func signInWithAWrongClockWithoutADate_failsIfTheClockIsAhead() async throws {
    try await everySeed(100) { world, chance in
      var options = Scene.options
      options.sendsDate = false
      let isAhead = chance.coin()
      world.setWall(aheadBy: .seconds(isAhead ? 7200 : -7200), isTold: chance.coin())
      do {
        let scene = try await Scene.signedIn(world, options: options)
        #expect(!isAhead)
        #expect(try await scene.session().result?["serverTimeOffsetMs"] == nil)
      } catch let failure as SceneFailed {
        #expect(isAhead && failure.description.contains("invalidIdToken"), "\(failure)")
        #expect(try await world.client().call("account.list").result?["accounts"]?.arrayValue?.isEmpty == true)
      }
    }
  }
}
