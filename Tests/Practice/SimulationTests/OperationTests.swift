import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Queued operations under deaths, failing disks and lost answers (docs/operations.md). The practice provider's
/// `/protected` honours `Idempotency-Key`, and counts what it carried out.
@Suite(.tellsItsSeed) struct OperationTests {
  static let seeds = Seeds.asked(100)
  static let deaths: [SimulatedDisk.Fault] = [
    .die(.kill), .die(.powerLoss(seed: 1)), .die(.powerLoss(seed: 2)), .fail(.inputOutput, once: true),
    .fail(.full, once: false),
  ]

  private static let policy =
    #"{"name":"default","version":1,"capabilities":{"note":{"kind":"write","offlineWindowSeconds":86400}}}"#

  private static func prepared(_ world: SimulatedWorld) async throws -> Scene {
    let scene = try await Scene.signedIn(world)
    let client = try world.client()
    defer { client.disconnect() }
    let origins = await client.call(
      "provider.update", #"{"provider":"idp","allowedOrigins":["\#(scene.idp.issuer)"]}"#)
    try #require(origins.result != nil, "\(origins)")
    try #require(await client.call("policy.set", #"{"name":"default","policy":\#(policy)}"#).result != nil)
    return scene
  }

  private static func enqueue(
    _ scene: Scene, key: String, _ more: String = #","retryWithinSeconds":86400"#
  ) async throws -> SimulatedAnswer {
    let client = try scene.world.client()
    defer { client.disconnect() }
    return await client.call(
      "operation.enqueue",
      """
      {"account":"work","capability":"note","idempotencyKey":"\(key)",\
      "request":{"method":"POST","url":"\(scene.idp.issuer)/protected?key=\(key)"}\(more)}
      """)
  }

  private static func operations(_ scene: Scene) async throws -> [PracticeJSON] {
    let client = try scene.world.client()
    defer { client.disconnect() }
    let answer = await client.call("operation.list", #"{"account":"work"}"#)
    return try #require(answer.result?["operations"]?.arrayValue, "\(answer)")
  }

  /// Statuses by their order, once nothing is pending any more.
  private static func settled(_ scene: Scene) async throws -> [String] {
    for _ in 1...60 {
      await scene.world.clock.sleep(for: .seconds(60))
      let client = try scene.world.client()
      let pending = await client.call("agent.status").result?["pendingOperations"]?.integerValue
      client.disconnect()
      if pending == 0 { break }
    }
    return try await operations(scene).map { $0["status"]?.stringValue ?? "-" }
  }

  @Test(arguments: deaths) func operationWithADiskFault_isCarriedOutOnce(fault: SimulatedDisk.Fault) throws {
    for step in FaultSteps.asked {
      let comment: Comment = "\(fault) at \(step)"
      let reached = try SimulatedWorld(seed: UInt64(step)).run { world in
        let scene = try await Self.prepared(world)
        let before = world.disk.operations
        world.failDisk(fault, at: step)
        let told = try await Self.enqueue(scene, key: "one")
        if world.isRunning { await world.clock.sleep(for: .seconds(30)) }
        let reached = world.disk.operations - before >= step
        try await world.restart()
        if told.result != nil {
          #expect(try await Self.operations(scene).count == 1, "\(comment): acknowledged and lost")
        } else {
          // Its client asks again with the same key.
          let again = try await Self.enqueue(scene, key: "one")
          #expect(again.result != nil, "\(comment): \(again)")
        }
        #expect(try await Self.settled(scene) == ["done"], comment)
        #expect(scene.idp.protectedEffectCount == 1, comment)
        return reached
      }
      guard reached else { break }
      try #require(step < 300)
    }
  }

  @Test(arguments: deaths) func claimWithADiskFault_isSettledOnceOrReadyAgain(fault: SimulatedDisk.Fault) throws {
    for step in FaultSteps.asked {
      let comment: Comment = "\(fault) at \(step)"
      let reached = try SimulatedWorld(seed: UInt64(step)).run { world in
        let scene = try await Self.prepared(world)
        let client = try world.client()
        let made = await client.call("operation.enqueue", #"{"account":"work","capability":"note","payload":1}"#)
        try #require(made.result?["status"]?.stringValue == "ready", "\(made)")
        let before = world.disk.operations
        world.failDisk(fault, at: step)
        let claimed = await client.call("operation.claim", #"{"account":"work"}"#)
        var isSettled = false
        if let claim = claimed.result?["claim"]?.stringValue, let name = claimed.result?["operation"]?.stringValue {
          let told = await client.call(
            "operation.settle", #"{"account":"work","operation":"\#(name)","claim":"\#(claim)","outcome":"done"}"#)
          isSettled = told.result != nil
        }
        let reached = world.disk.operations - before >= step
        client.disconnect()
        try await world.restart()
        await world.clock.sleep(for: .seconds(2))
        let status = try await Self.operations(scene).first?["status"]?.stringValue
        #expect(isSettled ? status == "done" : status == "ready" || status == "done", "\(comment): \(status ?? "gone")")
        return reached
      }
      guard reached else { break }
      try #require(step < 300)
    }
  }

  @Test func fullQueue_refusesANewOperationAndLosesNone() throws {
    try scenario(seed: 1) { world in
      let scene = try await Self.prepared(world)
      let client = try world.client()
      func enqueue(_ number: Int) async -> SimulatedAnswer {
        await client.call("operation.enqueue", #"{"account":"work","capability":"note","payload":\#(number)}"#)
      }
      for number in 1...1_000 {
        let told = await enqueue(number)
        try #require(told.result != nil, "\(told)")
      }
      let refused = await enqueue(1_001)
      #expect(refused.error?["code"]?.integerValue == 1003)
      #expect(refused.error?["data"]?["reason"]?.stringValue == "queueFull")
      let pending = await client.call("agent.status").result?["pendingOperations"]?.integerValue
      #expect(pending == 1_000)
      let findings = await client.call("agent.diagnose").result?["findings"]?.arrayValue ?? []
      #expect(
        findings.contains { $0["check"]?.stringValue == "operations" && $0["severity"]?.stringValue == "problem" })
      // The oldest that was delivered makes room.
      let claimed = await client.call("operation.claim", #"{"account":"work"}"#).result
      let (name, claim) = (claimed?["operation"]?.stringValue ?? "", claimed?["claim"]?.stringValue ?? "")
      _ = await client.call(
        "operation.settle", #"{"account":"work","operation":"\#(name)","claim":"\#(claim)","outcome":"done"}"#)
      let fitting = await enqueue(1_001)
      #expect(fitting.result != nil, "\(fitting)")
      let gone = await client.call("operation.get", #"{"account":"work","operation":"\#(name)"}"#)
      #expect(gone.error?["code"]?.integerValue == 6002)
      client.disconnect()
      _ = scene
    }
  }

  @Test func limitedCallers_fillHalfOfAQueueAndTheOwnerHasTheOther() throws {
    try scenario(seed: 1) { world in
      let scene = try await Self.prepared(world)
      let client = try world.client()
      let made = await client.call(
        "grant.create", #"{"client":"bot","accounts":["work"],"methods":["operation.*"]}"#)
      let secret = try #require(made.result?["secret"]?.stringValue, "\(made)")
      let bot = try world.client()
      let hello = await bot.call("agent.hello", #"{"client":{"name":"bot","version":"1"},"grant":"\#(secret)"}"#)
      try #require(hello.result != nil, "\(hello)")
      func enqueue(_ client: SimulatedClient, _ number: Int) async -> SimulatedAnswer {
        await client.call("operation.enqueue", #"{"account":"work","capability":"note","payload":\#(number)}"#)
      }
      for number in 1...500 {
        let told = await enqueue(bot, number)
        try #require(told.result != nil, "\(told)")
      }
      let refused = await enqueue(bot, 501)
      #expect(refused.error?["code"]?.integerValue == 1003)
      #expect(refused.error?["data"]?["reason"]?.stringValue == "queueFull")
      let own = await enqueue(client, 1)
      #expect(own.result != nil, "\(own)")
      let findings = await client.call("agent.diagnose").result?["findings"]?.arrayValue ?? []
      #expect(findings.contains { $0["message"]?.stringValue?.contains("have queued 500 operations") == true })
      bot.disconnect()
      client.disconnect()
      _ = scene
    }
  }

  @Test func writeWithoutPermission_isNeverSentTwiceWhenAnswersAreLost() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Self.prepared(world)
        world.network.next("/protected", seed % 2 == 0 ? .lostAnswer(.timedOut) : .lostRequest(.reset))
        let told = try await Self.enqueue(scene, key: "one", "")
        #expect(told.result != nil, "\(told)")
        if seed % 3 == 0 {
          await world.clock.sleep(for: .seconds(1))
          try await world.restart()
        }
        #expect(try await Self.settled(scene) == ["unknown"], "seed \(seed)")
        #expect(scene.idp.requestCount(to: "/protected") == (seed % 2 == 0 ? 1 : 0), "seed \(seed)")
      }
    }
  }

  @Test func operationsOfOneAccount_keepTheirOrderWhenAnswersAreLost() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Self.prepared(world)
        var state = seed
        func roll(_ sides: UInt64) -> UInt64 {
          state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          return (state >> 33) % sides
        }
        let keys = (1...6).map { "\($0)" }
        for key in keys {
          switch roll(5) {
          case 0: world.network.next("/protected", .lostAnswer(.reset))
          case 1: world.network.next("/protected", .lostRequest(.timedOut))
          case 2: world.network.next("/protected", .notConnected(.refused))
          default: break
          }
          let told = try await Self.enqueue(scene, key: key)
          #expect(told.result != nil, "seed \(seed): \(told)")
          if roll(6) == 0 { try await world.restart() }
        }
        #expect(try await Self.settled(scene) == keys.map { _ in "done" }, "seed \(seed)")
        #expect(scene.idp.protectedEffectCount == keys.count, "seed \(seed)")
        let answers = try await Self.operations(scene).map { $0["response"]?["body"]?.stringValue ?? "" }
        for (place, answer) in answers.enumerated() {
          #expect(answer.contains("\"effect\":\(place + 1)"), "seed \(seed): \(answer)")
        }
      }
    }
  }
}
