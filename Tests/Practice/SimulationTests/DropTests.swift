import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// What comes to a locked agent is on the disk, and nothing of it in memory: the process may die before anybody unlocks.
@Suite(.tellsItsSeed) struct DropTests {
  static let seeds = Seeds.asked(60)
  static let drops = PartitionID(bytes: Array("lanyard drops 01".utf8))!
  static let drop = RecordKind(rawValue: 28)

  /// An agent that was locked while the provider answered, and has the answer.
  private static func answeredWhileLocked(_ world: SimulatedWorld, status: Int? = nil) async throws -> Scene {
    let scene = try await Scene.signedIn(world)
    await scene.expireUnused()
    try await answerWhileLocked(scene, status: status)
    return scene
  }

  private static func answerWhileLocked(_ scene: Scene, status: Int? = nil) async throws {
    let gate = Gate()
    scene.world.network.next("/token", .heldAfter(gate))
    if let status { scene.idp.enqueueFault("/token", .status(status)) }
    let client = try scene.world.client()
    defer { client.disconnect() }
    let waiting = client.send("token.refresh", #"{"account":"work"}"#)
    await gate.reached()
    #expect(await client.call("agent.lock").error == nil)
    #expect(await client.answer(to: waiting).code == 1001)
    gate.open()
    await scene.world.clock.sleep(for: .seconds(1))
  }

  private static func rows(_ world: SimulatedWorld) throws -> [SealedRecord] {
    try world.tamper { try $0.records(in: drops) }
  }

  /// The account works now and after a restart, nothing was sent twice, and its family lives.
  private static func expectSound(_ scene: Scene, refreshes: Int = 1) async throws {
    let answer = try await scene.token()
    #expect(scene.works(answer), "\(answer)")
    #expect(scene.refreshes.count == refreshes)
    try await scene.world.restart()
    #expect(scene.works(try await scene.token()))
    await scene.expireUnused()
    #expect(scene.works(try await scene.token()))
    #expect(scene.idp.endOfGrant(scene.grant) == nil)
    let client = try scene.world.client()
    #expect(await client.call("revocation.list").json["result", "revocations"]?.arrayValue?.isEmpty == true)
  }

  @Test(arguments: [SimulatedDisk.Death.kill, .powerLoss(seed: 3)])
  func anAnswerOutlivesTheProcess(death: SimulatedDisk.Death) throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Self.answeredWhileLocked(world)
        world.crash(death)
        #expect(try Self.rows(world).count == 1)
        try await world.restart()
        // No power, no access token that could be trusted: another exchange with the token that came.
        try await Self.expectSound(scene, refreshes: death == .kill ? 1 : 2)
        world.crash()
        #expect(try Self.rows(world).isEmpty)
      }
    }
  }

  /// The unlocking is one transaction: at whichever operation of the disk it ends, the next one finds everything.
  @Test(arguments: 1...24) func aDeathWhileItIsTakenInLosesNothing(operation: Int) throws {
    try scenario(seed: UInt64(operation)) { world in
      let scene = try await Self.answeredWhileLocked(world)
      let client = try world.client()
      world.failDisk(.die(.powerLoss(seed: UInt64(operation))), at: operation)
      client.send("agent.unlock")
      await world.clock.sleep(for: .seconds(1))
      try await world.restart()
      let answer = try await scene.token()
      #expect(scene.works(answer), "\(operation): \(answer)")
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  @Test func aDiskThatFailsAtTheUnlockingKeepsItLocked() throws {
    try scenario { world in
      let scene = try await Self.answeredWhileLocked(world)
      let client = try world.client()
      world.failCommit(1, with: .full)
      #expect(await client.call("agent.unlock").code == 5001)
      #expect(try await scene.token().code == 1001)
      #expect(await client.call("agent.unlock").error == nil)
      try await Self.expectSound(scene)
    }
  }

  @Test func aDiskThatFailsWhenTheAnswerComesKeepsItInMemory() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        let gate = Gate()
        world.network.next("/token", .heldAfter(gate))
        let client = try world.client()
        client.send("token.refresh", #"{"account":"work"}"#)
        await gate.reached()
        #expect(await client.call("agent.lock").error == nil)
        world.failCommit(1, with: .full)
        gate.open()
        await world.clock.sleep(for: .seconds(1))
        #expect(await client.call("agent.unlock").error == nil)
        try await Self.expectSound(scene)
      }
    }
  }

  /// The other way round: the disk failed first, and the answer was in memory alone when the lock came.
  @Test func whatTheDiskDidNotTakeIsDroppedWhenTheLockComes() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        let gate = Gate()
        world.network.next("/token", .heldAfter(gate))
        let client = try world.client()
        let asked = client.send("token.refresh", #"{"account":"work"}"#)
        await gate.reached()
        world.failCommit(1, with: .full)
        gate.open()
        #expect(await client.answer(to: asked).code == 5001, "seed \(seed)")
        #expect(await client.call("agent.lock").error == nil)
        world.crash()
        #expect(try Self.rows(world).count == 1, "seed \(seed)")
        try await world.restart()
        try await Self.expectSound(scene)
      }
    }
  }

  @Test(arguments: [503, 500, 429]) func aRefusalThatCameToALockedAgentIsNoDoubtAfterItsDeath(status: Int) throws {
    try scenario { world in
      let scene = try await Self.answeredWhileLocked(world, status: status)
      world.crash()
      try await world.restart()
      try await Self.expectSound(scene, refreshes: 2)
    }
  }

  @Test(arguments: ["soft", "hard", "offline"]) func aSignOutBeforeTheLockStands(mode: String) throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        let gate = Gate()
        world.network.next("/token", .heldAfter(gate))
        let client = try world.client()
        client.send("token.refresh", #"{"account":"work"}"#)
        await gate.reached()
        #expect(await client.call("account.signOut", #"{"account":"work","mode":"\#(mode)"}"#).error == nil)
        #expect(await client.call("agent.lock").error == nil)
        gate.open()
        await world.clock.sleep(for: .seconds(1))
        let revoked = scene.idp.requestCount(to: "/revoke")
        #expect(revoked == (mode == "offline" ? 0 : 1), "seed \(seed): revocations wait")
        if seed % 2 == 0 {
          try await world.restart()
        } else {
          #expect(await client.call("agent.unlock").error == nil)
        }
        await world.clock.sleep(for: .seconds(7 * 3600))
        #expect(try await scene.token().code == 2003, "seed \(seed)")
        #expect(scene.idp.requestCount(to: "/revoke") == 2, "seed \(seed): what came late is revoked, too")
        #expect(scene.idp.activeRefreshTokens().isEmpty, "seed \(seed): the successor is dead")
      }
    }
  }

  @Test func aSignOutAfterTheUnlockingRevokesWhatCame() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Self.answeredWhileLocked(world)
        let client = try world.client()
        #expect(await client.call("agent.unlock").error == nil)
        let answer = await client.call("account.signOut", #"{"account":"work","mode":"hard"}"#)
        #expect(answer.error == nil, "seed \(seed): \(answer)")
        await world.clock.sleep(for: .seconds(1))
        #expect(scene.idp.activeRefreshTokens().isEmpty, "seed \(seed)")
      }
    }
  }

  /// A code that was redeemed while the lock came: no account, and the token does not live on.
  @Test func aSignInThatTheLockOvertookLeavesNoToken() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let provider = try await world.provider("idp", options: Scene.options)
        let client = try world.client()
        let gate = Gate()
        world.network.next("/token", .heldAfter(gate))
        let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"paste"}"#)
        let id = try #require(begun["signIn"])
        let back = try provider.idp.authorize(url: try #require(begun["authorizationUrl"]), as: "alice")
        let redeeming = client.send("signIn.complete", #"{"signIn":"\#(id)","redirectUrl":"\#(back)"}"#)
        let waiting = client.send("signIn.wait", #"{"signIn":"\#(id)"}"#)
        await gate.reached()
        #expect(await client.call("agent.lock").error == nil)
        #expect(await client.answer(to: waiting).code == 1001, "seed \(seed)")
        #expect(await client.call("signIn.wait", #"{"signIn":"\#(id)"}"#).code == 1001)
        #expect(await client.call("signIn.cancel", #"{"signIn":"\#(id)"}"#).code == 1001)
        gate.open()
        _ = await client.answer(to: redeeming)
        #expect(provider.idp.activeRefreshTokens().count == 1, "revocations wait")
        if seed % 2 == 0 { try await world.restart() } else { _ = await client.call("agent.unlock") }
        await world.clock.sleep(for: .seconds(5))
        #expect(provider.idp.activeRefreshTokens().isEmpty, "seed \(seed)")
        let after = try world.client()
        #expect(await after.call("account.list").json["result", "accounts"]?.arrayValue?.isEmpty == true)
      }
    }
  }
}

/// Somebody who can write into the store's file.
@Suite(.tellsItsSeed) struct ForgedDropTests {
  private static func scene(_ world: SimulatedWorld) async throws -> (Scene, [SealedRecord]) {
    let scene = try await Scene.signedIn(world)
    await scene.expireUnused()
    let gate = Gate()
    world.network.next("/token", .heldAfter(gate))
    let client = try world.client()
    client.send("token.refresh", #"{"account":"work"}"#)
    await gate.reached()
    _ = await client.call("agent.lock")
    gate.open()
    await world.clock.sleep(for: .seconds(1))
    world.crash()
    return (scene, try world.tamper { try $0.records(in: DropTests.drops) })
  }

  private static func put(_ rows: [SealedRecord], _ world: SimulatedWorld) throws {
    world.crash()
    try world.tamper { try $0.commit(rows.map { .put($0) }) }
  }

  private static func expectSound(_ scene: Scene) async throws {
    #expect(scene.works(try await scene.token()))
    await scene.world.clock.sleep(for: .seconds(60))
    await scene.expireUnused()
    #expect(scene.works(try await scene.token()))
    #expect(scene.idp.endOfGrant(scene.grant) == nil)
    #expect(scene.idp.requestCount(to: "/revoke") == 0)
  }

  /// It has the very token that lives: taken for one that came too late, it would be revoked.
  @Test func aDropThatWasTakenInDoesNotComeTwice() throws {
    try scenario { world in
      let (scene, rows) = try await Self.scene(world)
      #expect(rows.count == 1)
      try await world.restart()
      #expect(scene.works(try await scene.token()))
      try Self.put(rows, world)
      try await world.restart()
      try await Self.expectSound(scene)
      world.crash()
      #expect(try world.tamper { try $0.records(in: DropTests.drops) }.isEmpty, "what does not open is no use")
    }
  }

  @Test func copiesUnderOtherNamesAndNumbersDoNotOpen() throws {
    try scenario { world in
      let (scene, rows) = try await Self.scene(world)
      var forged: [SealedRecord] = []
      for change in 0..<4 {
        var copy = try #require(rows.first)
        copy.key.id = [UInt8](repeating: UInt8(change), count: 16)
        switch change {
        case 1: copy.generation += 1
        case 2: copy.sealed[copy.sealed.count / 2] ^= 1
        case 3: copy.sealed = [UInt8](repeating: 7, count: 300)
        default: break
        }
        forged.append(copy)
      }
      try Self.put(forged, world)
      try await world.restart()
      try await Self.expectSound(scene)
    }
  }

  /// A drop that is gone is an answer that was lost: in doubt, and nothing is sent twice.
  @Test func aDropThatWasTakenAwayIsADoubt() throws {
    try scenario { world in
      let (scene, rows) = try await Self.scene(world)
      try world.tamper { try $0.commit(rows.map { .delete($0.key) }) }
      try await world.restart()
      #expect(try await scene.token().code == 2004)
      #expect(scene.refreshes.count == 1)
    }
  }
}
