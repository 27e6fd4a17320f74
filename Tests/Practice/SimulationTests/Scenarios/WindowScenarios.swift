import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Offline windows against clock changes, sleep, restarts, and servers with wrong dates (docs/offline.md, Time).
@Suite(.tellsItsSeed) struct WindowScenarios {
  /// The length of the window: shorter than a scenario.
  private static let window: Int64 = 48 * 3600
  private static let policy = """
    {"name":"default","policy":{"name":"default","version":1,"capabilities":{\
    "deny":{"kind":"read","offlineWindowSeconds":\(window)},\
    "shrink":{"kind":"read","offlineWindowSeconds":\(window),"onClockSuspect":"shrink"},\
    "fresh":{"kind":"write","token":"fresh","onClockSuspect":"shrink"}}}}
    """

  private struct Verdict: Equatable {
    var effect: String
    var reason: String
    var failed: [String]
    /// The validity that the decision reports, by the wall clock.
    var validFor: Milliseconds?
  }

  /// The decisions of one moment.
  private struct Verdicts: Equatable {
    var deny, shrink, fresh: Verdict
    var clock: String

    /// Without the parts that change with time.
    var said: Verdicts {
      var said = self
      (said.deny.validFor, said.shrink.validFor, said.fresh.validFor) = (nil, nil, nil)
      return said
    }
  }

  private final class Watch: Sendable {
    let scene: Scene
    var world: SimulatedWorld { scene.world }

    init(_ scene: Scene) { self.scene = scene }

    func decide() async throws -> Verdicts {
      let client = try world.client()
      defer { client.disconnect() }
      let answer = await client.call(
        "authorization.checkMany", #"{"account":"\#(scene.account)","capabilities":["deny","shrink","fresh"]}"#)
      let decisions = try #require(answer.result?["decisions"]?.arrayValue, "\(answer)")
      let verdicts = try decisions.map { decision in
        let now = try #require(decision["time", "now"]?.stringValue.flatMap { Timestamp(instant: $0) })
        return Verdict(
          effect: try #require(decision["effect"]?.stringValue), reason: try #require(decision["reason"]?.stringValue),
          failed: decision["failed"]?.arrayValue?.compactMap { $0["reason"]?.stringValue } ?? [],
          validFor: decision["validUntil"]?.stringValue.flatMap { Timestamp(instant: $0) }.map { $0 - now })
      }
      let clocks = Set(decisions.compactMap { $0["time", "clock"]?.stringValue })
      #expect(clocks.count == 1)
      let clock = try #require(clocks.first)
      let session = await client.call("session.get", #"{"account":"\#(scene.account)"}"#)
      #expect(session["clock"] == clock, "one clock: \(session)")
      return Verdicts(deny: verdicts[0], shrink: verdicts[1], fresh: verdicts[2], clock: clock)
    }
  }

  /// The boot clock's time since the provider's last answer: in this boot all of it, in earlier boots up to the last
  /// decision, which stored it.
  private struct Counted {
    var before = Milliseconds.zero
    var since: BootInstant
    var isSameBoot = true

    func elapsed(_ world: SimulatedWorld) -> Milliseconds { before + (world.clock.boot() - since) }
  }

  /// The invariants at every moment.
  private static func check(_ verdicts: Verdicts, _ counted: Counted, _ world: SimulatedWorld) {
    let elapsed = counted.elapsed(world)
    let second = Milliseconds.seconds(1)
    let told: Comment = "\(verdicts) after \(elapsed.wholeSeconds) s"
    if verdicts.shrink.effect == "allow" {
      #expect(elapsed <= .seconds(window) + second, "a window became longer: \(told)")
      if let left = verdicts.shrink.validFor { #expect(left <= .seconds(window) - elapsed + second + second, told) }
    } else {
      #expect(verdicts.shrink.reason == "offlineWindowExpired", told)
      if counted.isSameBoot { #expect(elapsed >= .seconds(window) - second, "a window became shorter: \(told)") }
    }
    // Exactly while the clock is suspect, and for no other reason.
    #expect(verdicts.deny.failed.contains("clockSuspect") == (verdicts.clock == "suspect"), told)
    #expect(verdicts.deny.failed.filter { $0 != "clockSuspect" } == verdicts.shrink.failed, told)
    #expect(verdicts.fresh.reason == "onlineRequired", told)
  }

  private static func wrongness(_ chance: Chance) -> Milliseconds {
    let most = chance.one(of: [90, 7200, 86_400 * 3, 86_400 * 3000] as [Int64])
    let error = chance.seconds(1...most)
    return chance.coin() ? error : .zero - error
  }

  /// Alice is offline from the beginning, and the clocks are changed in any way, with deaths between.
  @Test func offlineWindow_isNeverLongerThanTheBootClockCounts() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      let watch = Watch(scene)
      #expect(try await world.client().call("policy.set", Self.policy).error == nil)
      _ = try await scene.token(method: "token.refresh")
      var counted = Counted(since: try #require(scene.refreshes.last?.at))
      world.setOnline(false)
      _ = try await scene.token(method: "token.refresh")
      for _ in 0..<12 {
        switch chance.number(0...6) {
        case 0: await world.clock.sleep(for: chance.seconds(1...6 * 3600))
        case 1: world.sleepMachine(for: chance.seconds(1...12 * 3600))
        case 2, 3: world.setWall(aheadBy: Self.wrongness(chance), isTold: chance.coin())
        case 4: world.setWall(aheadBy: .zero, isTold: chance.coin())
        case 5:
          world.crash()
          try await world.restart()
        default:
          counted.before = counted.elapsed(world)
          counted.isSameBoot = false
          world.crash(chance.coin() ? .kill : .powerLoss(seed: world.seed))
          world.clock.reboot(after: chance.seconds(1...5000))
          if chance.coin() { world.clock.setWall(world.clock.trueTime + Self.wrongness(chance)) }
          counted.since = BootInstant(milliseconds: 0)
          try await world.restart()
        }
        Self.check(try await watch.decide(), counted, world)
      }
      // The provider's answer begins a new window, and carries the time.
      world.setWall(aheadBy: .zero)
      world.setOnline(true)
      await world.clock.sleep(for: .seconds(601))  // longer than any pause after a denial had the provider asked
      let answer = try await scene.token(method: "token.refresh")
      #expect(scene.works(answer), "\(answer)")
      let after = try await watch.decide()
      #expect(after.clock == "trusted" && after.deny.effect == "allow" && after.fresh.effect == "allow", "\(after)")
    }
  }

  /// No request for a day and a half, then a shutdown, and a start with an older clock.
  @Test func shutdown_storesTheElapsedWindow() async throws {
    try await everySeed(200) { world, chance in
      let scene = try await Scene.signedIn(world)
      let watch = Watch(scene)
      #expect(try await world.client().call("policy.set", Self.policy).error == nil)
      world.setOnline(false)
      var counted = Counted(since: world.clock.boot())
      let ran = chance.seconds(36 * 3600...47 * 3600)
      if chance.coin() { world.sleepMachine(for: ran) } else { await world.clock.sleep(for: ran) }
      let client = try world.client()
      _ = await client.call("agent.shutdown")
      await world.clock.sleep(for: .seconds(5))
      counted.before = counted.elapsed(world) - .seconds(5)
      counted.since = BootInstant(milliseconds: 0)
      counted.isSameBoot = false
      world.crash()
      world.clock.reboot()
      world.clock.setWall(world.clock.trueTime + (.zero - ran))
      try await world.restart()
      for hours in [0, 8, 16] as [Int64] {
        await world.clock.sleep(for: .seconds(hours * 3600))
        Self.check(try await watch.decide(), counted, world)
      }
    }
  }

  /// The provider's clock is wrong or changes: it counts for its own accounts, and shortens nothing that the boot clock
  /// counted.
  @Test func lyingProvider_shortensNoElapsedWindow() async throws {
    try await everySeed(500) { world, chance in
      let scene = try await Scene.signedIn(world)
      let watch = Watch(scene)
      #expect(try await world.client().call("policy.set", Self.policy).error == nil)
      for _ in 0..<4 {
        world.setOnline(true)
        let lie = Self.wrongness(chance)
        scene.idp.setClockOffset(milliseconds: lie.count)
        // Longer than the pause after a denial had the provider asked.
        await world.clock.sleep(for: chance.seconds(601...7200))
        #expect(scene.works(try await scene.token(method: "token.refresh")))
        let counted = Counted(since: try #require(scene.refreshes.last?.at))
        world.setOnline(false)
        _ = try await scene.token(method: "token.refresh")
        for _ in 0..<3 {
          let pause = chance.seconds(1...30 * 3600)
          if chance.coin() { world.sleepMachine(for: pause) } else { await world.clock.sleep(for: pause) }
          let verdicts = try await watch.decide()
          Self.check(verdicts, counted, world)
          #expect(verdicts.clock == "trusted", "\(lie.wholeSeconds) s: \(verdicts)")
        }
      }
    }
  }

  /// Bob's provider lies, is unreachable or disables him, and he signs out: none of it changes Alice's decisions.
  @Test func failuresOfAnotherAccount_changeNoDecision() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      let watch = Watch(scene)
      let other = try await world.provider("other", options: Scene.options)
      let bob = try await world.signIn("bob", at: other)
      // Longer than the story takes: being online must not end in it.
      let policy = Self.policy.replacing(#""token":"fresh""#, with: #""token":"fresh","onlineWithinSeconds":3600"#)
      #expect(try await world.client().call("policy.set", policy).error == nil)
      if chance.coin() { world.setWall(aheadBy: Self.wrongness(chance)) }
      let isOffline = chance.coin()
      if isOffline {
        world.network.next("/token", .notConnected(.nameNotFound), host: "idp.test", times: nil)
        _ = try await scene.token(method: "token.refresh")
        if chance.coin() { try await world.restart() }
      }
      // During the token's lifetime, or long after it.
      await world.clock.sleep(for: chance.coin() ? chance.seconds(1...1500) : chance.seconds(7200...40 * 3600))
      // A denial has Alice's provider asked; its answer comes first.
      _ = try await watch.decide()
      await world.clock.sleep(for: .seconds(60))
      func bobs(_ method: String, _ more: String = "") async throws {
        let client = try world.client()
        defer { client.disconnect() }
        _ = await client.call(method, #"{"account":"\#(bob)"\#(more)}"#)
      }
      for _ in 0..<6 {
        let before = try await watch.decide()
        switch chance.number(0...4) {
        case 0: other.idp.setClockOffset(milliseconds: Self.wrongness(chance).count)
        case 1:
          world.network.next(
            "/token", chance.one(of: [.lostAnswer(.reset), .untrusted(.unknownAuthority)]), host: "other.test")
        case 2: world.network.next("/token", .notConnected(.nameNotFound), host: "other.test")
        case 3: try other.idp.setUser("bob", disabled: true)
        default: try await bobs("account.signOut", #","mode":"soft""#)
        }
        try await bobs("token.refresh")
        let after = try await watch.decide()
        #expect(before.said == after.said)
      }
    }
  }
}

extension Timestamp {
  /// An instant of the contract, `2030-01-01T00:00:00.000Z`.
  fileprivate init?(instant text: String) {
    let numbers = text.split { !$0.isNumber }.compactMap { Int64($0) }
    guard numbers.count == 7 else { return nil }
    let second = Timestamp(
      year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4], second: numbers[5])
    self = second + Milliseconds(numbers[6])
  }
}
