import Agent
import AgentModel
import AgentPorts
import AgentSimulation
import Foundation
import PracticeProvider
import Testing

/// An agent that locks itself by its configured rules.
@Suite struct SelfLockTests {
  private static func scenario(
    _ rules: LockingRules, _ body: @escaping @Sendable (SimulatedWorld, Scene, SimulatedClient) async throws -> Void
  ) throws {
    let world = SimulatedWorld(seed: 7, locking: rules)
    try world.run { world in
      let scene = try await Scene.signedIn(world)
      let watcher = try world.client()
      _ = await watcher.call("event.subscribe", #"{"types":["agent.locked"]}"#)
      try await body(world, scene, watcher)
    }
  }

  private static func isLocked(_ world: SimulatedWorld) async throws -> Bool {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call("agent.status").line?.contains(#""locked":true"#) == true
  }

  /// The reasons in the events since the last call.
  private static func reasons(_ watcher: SimulatedClient) -> [String] {
    watcher.takeLines().compactMap { line in
      line.range(of: #""data":{"reason":""#).map { String(line[$0.upperBound...].prefix { $0 != "\"" }) }
    }
  }

  @Test func unusedAgent_locksItself() throws {
    try Self.scenario(LockingRules(idle: .seconds(600))) { world, scene, watcher in
      for _ in 0..<5 {
        await world.clock.sleep(for: .seconds(500))
        #expect(scene.works(try await scene.token()), "use keeps it open")
      }
      await world.clock.sleep(for: .seconds(599))
      let isLocked = try await Self.isLocked(world)
      #expect(!isLocked)
      await world.clock.sleep(for: .seconds(2))
      #expect(try await Self.isLocked(world), "a status request does not count as use")
      #expect(Self.reasons(watcher) == ["idle"])
      #expect(try await scene.token().code == 1001)
      #expect(await watcher.call("agent.unlock").error == nil)
      #expect(scene.works(try await scene.token()))
      await world.clock.sleep(for: .seconds(601))
      #expect(try await Self.isLocked(world), "and again")
    }
  }

  @Test func sleepOfTheMachine_countsAsIdleTime() throws {
    try Self.scenario(LockingRules(idle: .seconds(600))) { world, scene, _ in
      _ = try await scene.token()
      world.sleepMachine(for: .seconds(3600))
      await world.clock.sleep(for: .seconds(1))
      #expect(try await Self.isLocked(world))
    }
  }

  @Test(arguments: [true, false]) func machineSleep_waitsForTheLock(isAsked: Bool) throws {
    try Self.scenario(LockingRules(onSleep: isAsked)) { world, scene, watcher in
      world.signals.fire(.sleeps)
      await world.clock.sleep(for: .seconds(1))
      let isLocked = try await Self.isLocked(world)
      #expect(isLocked == isAsked)
      #expect(world.signals.readiness == 1, "ready only after the lock")
      if isAsked {
        #expect(Self.reasons(watcher) == ["sleep"])
      }
    }
  }

  @Test(arguments: [true, false]) func screenLock_locksTheAgentIfConfigured(isAsked: Bool) throws {
    try Self.scenario(LockingRules(onScreenLock: isAsked)) { world, scene, watcher in
      world.signals.fire(.screenLocked)
      await world.clock.sleep(for: .seconds(1))
      let isLocked = try await Self.isLocked(world)
      #expect(isLocked == isAsked)
      guard isAsked else { return }
      #expect(Self.reasons(watcher) == ["screen"])
      _ = await watcher.call("agent.unlock")
      let log = await watcher.call("audit.list").line ?? ""
      #expect(log.contains(#""event":"agent.lock","outcome":"ok","facts":{"reason":"screen"}"#), "\(log)")
    }
  }
}
