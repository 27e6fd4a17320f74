import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Guesses, the owner, interruptions, full disks and deaths, all at once: each seed is another history.
@Suite(.tellsItsSeed) struct StepUpChaosTests {
  enum Act: CaseIterable {
    case right, wrong, guess, clear, enroll, unenroll, lock, signOut, fullDisk, wrongClock, death
  }

  /// The number of attempts that are certainly spent, and the number that may be: a lost answer leaves it open.
  struct Spent {
    var least: Int64 = 0
    var most: Int64 = 0
  }

  @Test func randomHistories_giveNoTryBack() async throws {
    // Each try takes as long as a PIN's key derivation.
    try await everySeed(40) { world, _ in
      let seed = world.seed
      let scene = try await Scene.signedIn(world)
      let chance = SeededEntropy(seed: seed &* 0x51)
      var spent = Spent()
      try await Self.settle(scene, &spent)
      for round in 0..<4 {
        let acts = (0..<4).map { _ in Act.allCases[Int(chance.number(in: 0...Int64(Act.allCases.count - 1)))] }
        let told = try await withThrowingTaskGroup(of: (Act, SimulatedAnswer?).self) { group in
          for act in acts { group.addTask { (act, try await Self.perform(act, scene)) } }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        Self.count(told, &spent, "seed \(seed), round \(round)")
        let left = try await Self.settle(scene, &spent)
        #expect(
          spent.least...spent.most ~= 10 - left, "seed \(seed), round \(round): \(left) left after \(acts), \(spent)")
        // The counts are certain again.
        (spent.least, spent.most) = (10 - left, 10 - left)
        guard left > 4 else { break }
        // No pause and no step-up is left.
        await world.clock.sleep(for: .seconds(600))
      }
    }
  }

  private static func perform(_ act: Act, _ scene: Scene) async throws -> SimulatedAnswer? {
    func call(_ method: String, _ more: String = "", of account: Bool = true) async -> SimulatedAnswer? {
      guard scene.world.isRunning, let client = try? scene.world.client() else { return nil }
      defer { client.disconnect() }
      return await client.call(method, account ? #"{"account":"\#(scene.account)"\#(more)}"# : "{}")
    }
    switch act {
    case .right: return await call("stepUp.verify", #","pin":"2468""#)
    case .wrong, .guess: return await call("stepUp.verify", #","pin":"0000""#)
    case .clear: return await call("stepUp.clear")
    case .enroll: return await call("stepUp.enroll", #","pin":"2468""#)
    case .unenroll: return await call("stepUp.unenroll")
    case .lock: return await call("agent.lock", of: false)
    case .signOut: return await call("account.signOut", #","mode":"soft""#)
    case .fullDisk: scene.world.failCommit(2, with: .full)
    case .wrongClock: scene.world.clock.setWall(scene.world.clock.wall() + .seconds(-86_400))
    case .death:
      await scene.world.clock.sleep(for: Milliseconds(1))
      scene.world.crash()
    }
    return nil
  }

  private static func count(_ told: [(Act, SimulatedAnswer?)], _ spent: inout Spent, _ place: String) {
    for (act, answer) in told {
      switch (act, answer?.code) {
      case (.right, nil) where answer?.isLost == false: break
      case (.right, 4003): Issue.record("\(place): the right PIN was wrong: \(String(describing: answer))")
      case (.wrong, nil) where answer?.isLost == false, (.guess, nil) where answer?.isLost == false:
        Issue.record("\(place): a wrong PIN was right")
      case (.wrong, 4003), (.guess, 4003):
        spent.least += 1
        spent.most += 1
      // Not judged, and not counted: throttled, or no PIN.
      case (.right, 4004), (.wrong, 4004), (.guess, 4004), (.right, 6003), (.wrong, 6003), (.guess, 6003): break
      // Lost or interrupted: possibly counted.
      case (.right, _), (.wrong, _), (.guess, _): spent.most += 1
      // A new PIN, or possibly a new one, has all its attempts.
      case (.enroll, nil), (.unenroll, nil), (.enroll, 5001), (.unenroll, 5001): spent.least = 0
      default: break
      }
    }
  }

  /// Brings everything to rest: the agent runs, the account is signed in, and has its PIN. Returns the attempts left.
  @discardableResult private static func settle(_ scene: Scene, _ spent: inout Spent) async throws -> Int64 {
    let world = scene.world
    if !world.isRunning { try await world.restart() }
    world.clock.setWall(world.clock.trueTime)
    let client = try world.client()
    defer { client.disconnect() }
    _ = await client.call("agent.unlock")
    // A disk failure that is still planned happens here.
    for _ in 0..<8 {
      _ = await client.call(
        "policy.set", #"{"name":"p","policy":{"name":"p","version":1,"capabilities":{"c":{"kind":"read"}}}}"#)
    }
    let account = #"{"account":"\#(scene.account)"}"#
    if await client.call("session.get", account)["state"] == "signedOut" {
      let status = await client.call("stepUp.status", account)
      #expect(status.error == nil && status["validUntil"] == nil, "a step-up outlived the sign-out")
      _ = try await world.signIn("alice", at: scene.provider, alias: "work")
    }
    let status = await client.call("stepUp.status", account)
    if status.result?["enrolled"] != true {
      // The first PIN takes a sign-in within ten minutes.
      _ = try await world.signIn("alice", at: scene.provider, again: scene.account)
      let enrolled = await client.call("stepUp.enroll", #"{"account":"\#(scene.account)","pin":"2468"}"#)
      #expect(enrolled.error == nil, "\(enrolled)")
      spent = Spent()
      return 10
    }
    return try #require(status.result?["attemptsLeft"]?.integerValue)
  }
}
