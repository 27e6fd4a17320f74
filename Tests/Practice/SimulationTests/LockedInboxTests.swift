import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// An answer that comes to a locked agent is sealed into the inbox on the disk: the process may die before the unlock.
@Suite(.tellsItsSeed) struct LockedInboxTests {
  static let seeds = Seeds.asked(60)
  static let inboxPartition = PartitionID(bytes: Array("lanyard drops 01".utf8))!
  static let drop = RecordKind(rawValue: 28)

  /// An agent that was locked while the provider answered, and that has stored the answer in the inbox.
  private static func answeredWhileLocked(_ world: SimulatedWorld, status: Int? = nil) async throws -> Scene {
    let scene = try await Scene.signedIn(world)
    await scene.expireUnused()
    try await answerWhileLocked(scene, status: status)
    return scene
  }

  private static func answerWhileLocked(_ scene: Scene, status: Int? = nil) async throws {
    if let status { scene.idp.enqueueFault("/token", .status(status)) }
    let (client, waiting, gate) = try await scene.heldExchange("token.refresh")
    defer { client.disconnect() }
    #expect(await client.call("agent.lock").error == nil)
    #expect(await client.answer(to: waiting).code == 1001)
    gate.open()
    await scene.world.clock.sleep(for: .seconds(1))
  }

  private static func rows(_ world: SimulatedWorld) throws -> [SealedRecord] {
    try world.tamper { try $0.records(in: inboxPartition) }
  }

  /// The account works now and after a restart, no token was sent twice, and its family is live.
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
  func pendingRecord_survivesTheProcess(death: SimulatedDisk.Death) throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Self.answeredWhileLocked(world)
        world.crash(death)
        #expect(try Self.rows(world).count == 1)
        try await world.restart()
        // After a power loss no access token can be trusted: one more exchange with the new refresh token.
        try await Self.expectSound(scene, refreshes: death == .kill ? 1 : 2)
        world.crash()
        #expect(try Self.rows(world).isEmpty)
      }
    }
  }

  /// Draining the inbox is one transaction: after a death at any disk operation the next unlock finds everything.
  @Test(arguments: 1...24) func deathWhileDrainingTheInbox_losesNoRecord(operation: Int) throws {
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

  @Test func diskFailureAtTheUnlock_keepsTheVaultLocked() throws {
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

  @Test func diskFailureWithALockedVault_keepsTheAnswerInMemory() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        let (client, _, gate) = try await scene.heldExchange("token.refresh")
        #expect(await client.call("agent.lock").error == nil)
        world.failCommit(1, with: .full)
        gate.open()
        await world.clock.sleep(for: .seconds(1))
        #expect(await client.call("agent.unlock").error == nil)
        try await Self.expectSound(scene)
      }
    }
  }

  /// The disk failed before the lock, and the answer was only in memory when the lock came.
  @Test func answerOnlyInMemory_isWrittenToTheInboxAtTheLock() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        let (client, asked, gate) = try await scene.heldExchange("token.refresh")
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

  @Test(arguments: [503, 500, 429]) func refusalWhileLocked_isNoUnknownOutcomeAfterADeath(status: Int) throws {
    try scenario { world in
      let scene = try await Self.answeredWhileLocked(world, status: status)
      world.crash()
      try await world.restart()
      try await Self.expectSound(scene, refreshes: 2)
    }
  }

  @Test(arguments: ["soft", "hard", "offline"]) func signOutBeforeTheLock_holdsAfterALateAnswer(mode: String) throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        let (client, _, gate) = try await scene.heldExchange("token.refresh")
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

  @Test func signOutAfterTheUnlock_revokesThePendingRecord() throws {
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

  /// A code was redeemed while the lock came: no account is made, and the token is revoked.
  @Test func signInOvertakenByTheLock_leavesNoLiveToken() throws {
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
        #expect(await client.answer(to: waiting).reason == "cancelled", "seed \(seed)")
        #expect(await client.call("signIn.wait", #"{"signIn":"\#(id)"}"#).code == 1001)
        #expect(await client.call("signIn.cancel", #"{"signIn":"\#(id)"}"#).code == 1001)
        gate.open()
        #expect(await client.answer(to: redeeming).reason == "cancelled", "seed \(seed)")
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

/// Rows forged by a writer of the store's file.
@Suite(.tellsItsSeed) struct ForgedInboxTests {
  private static func scene(_ world: SimulatedWorld) async throws -> (Scene, [SealedRecord]) {
    let scene = try await Scene.signedIn(world)
    await scene.expireUnused()
    let (client, _, gate) = try await scene.heldExchange("token.refresh")
    _ = await client.call("agent.lock")
    gate.open()
    await world.clock.sleep(for: .seconds(1))
    world.crash()
    return (scene, try world.tamper { try $0.records(in: LockedInboxTests.inboxPartition) })
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

  /// The record holds the live token: treated as a late answer, it would be revoked.
  @Test func drainedRecordPutBack_isNotAppliedAgain() throws {
    try scenario { world in
      let (scene, rows) = try await Self.scene(world)
      #expect(rows.count == 1)
      try await world.restart()
      #expect(scene.works(try await scene.token()))
      try Self.put(rows, world)
      try await world.restart()
      try await Self.expectSound(scene)
      world.crash()
      #expect(
        try world.tamper { try $0.records(in: LockedInboxTests.inboxPartition) }.isEmpty,
        "a record that does not open is removed")
    }
  }

  @Test func copiedPendingRecordUnderAnotherID_doesNotOpen() throws {
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

  /// A deleted pending record is a lost answer: the outcome is unknown, and no token is sent twice.
  @Test func deletedPendingRecord_isAnUnknownOutcome() throws {
    try scenario { world in
      let (scene, rows) = try await Self.scene(world)
      try world.tamper { try $0.commit(rows.map { .delete($0.key) }) }
      try await world.restart()
      #expect(try await scene.token().code == 2004)
      #expect(scene.refreshes.count == 1)
    }
  }
}
