import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// An old copy of the whole store is put back (docs/storage.md, Anchors).
@Suite struct RollbackTests {
  /// Alice is signed in, the disk is copied, `meanwhile` runs, and the copy is put back.
  private static func putBack(
    _ world: SimulatedWorld, after meanwhile: (Scene) async throws -> Void
  ) async throws -> Scene {
    let scene = try await Scene.signedIn(world)
    world.crash()
    let old = world.disk.snapshot()
    try await world.restart()
    try await meanwhile(scene)
    world.crash()
    world.disk.restore(old)
    return scene
  }

  private static func refresh(_ scene: Scene) async throws {
    let answer = try await scene.token(method: "token.refresh")
    #expect(scene.works(answer), "\(answer)")
  }

  private static func call(_ world: SimulatedWorld, _ method: String, _ params: String = "{}") async throws
    -> SimulatedAnswer
  {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call(method, params)
  }

  @Test func oldStoreCopy_isRefusedAndSendsNothing() throws {
    try scenario { world in
      let scene = try await Self.putBack(world, after: Self.refresh)
      let sent = scene.refreshes.count
      await #expect(throws: (any Error).self) { try await world.restart() }
      await world.clock.sleep(for: .seconds(3600))
      #expect(scene.refreshes.count == sent)
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  /// The first open of a slot after a rotation writes to the store, but only once the store is known not to be old.
  @Test func oldStoreCopyFromBeforeARotation_isRefused() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      #expect(try await Self.call(world, "agent.rotateRootKey").error == nil)
      world.crash()
      let old = world.disk.snapshot()
      try await world.restart()
      try await Self.refresh(scene)
      world.crash()
      world.disk.restore(old)
      await #expect(throws: (any Error).self) { try await world.restart() }
      await #expect(throws: (any Error).self, "it is refused again, and opening changed nothing") {
        try await world.restart()
      }
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  // MARK: root keys

  /// An attacker with a copy from before a rotation has its root key, and can make a store with it of any count: here by
  /// running an agent on the copy, beside another anchor.
  private static func forge(_ world: SimulatedWorld) async throws -> Scene {
    let scene = try await Scene.signedIn(world)
    world.crash()
    let (old, anchor) = (world.disk.snapshot(), world.anchor.content)
    world.anchor.forget()
    try await world.restart()
    for index in 0..<20 {
      let answer = try await Self.call(world, "account.rename", #"{"account":"work","alias":"work\#(index)"}"#)
      #expect(answer.error == nil, "\(answer)")
      let back = try await Self.call(world, "account.rename", #"{"account":"work\#(index)","alias":"work"}"#)
      #expect(back.error == nil, "\(back)")
    }
    world.crash()
    let forged = world.disk.snapshot()
    world.disk.restore(old)
    world.anchor.restore(anchor)
    try await world.restart()
    #expect(try await Self.call(world, "agent.rotateRootKey").error == nil)
    world.crash()
    world.disk.restore(forged)
    return scene
  }

  @Test func storeWithARotatedRootKeyAndAHighCount_isRefusedAndSendsNothing() throws {
    try scenario { world in
      let scene = try await Self.forge(world)
      let sent = scene.idp.requests(to: nil).count
      await #expect(throws: (any Error).self) { try await world.restart() }
      await #expect(throws: (any Error).self, "it is refused again, and opening changed nothing") {
        try await world.restart()
      }
      await world.clock.sleep(for: .seconds(3600))
      #expect(scene.idp.requests(to: nil).count == sent)
    }
  }

  @Test func acceptedStoreWithARotatedRootKey_signsOutEveryAccount() throws {
    try scenario { world in
      let scene = try await Self.forge(world)
      let sent = scene.idp.requests(to: nil).count
      try await world.restart(acceptingOldStore: true)
      #expect(try await scene.token().code == 2003)
      #expect(scene.idp.requests(to: nil).count == sent)
      try await world.restart()
      #expect(try await scene.token().code == 2003, "from here on it is an ordinary store")
      #expect(try await Self.call(world, "agent.rotateRootKey").error == nil)
      try await world.restart()
    }
  }

  /// An anchor may lose its root keys alone: the next opening tells it.
  @Test func anchorWithoutARootKey_isCompletedAtTheNextOpening() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let prints = world.anchor.content
      world.anchor.forgetRoots()
      try await world.restart()
      #expect(scene.works(try await scene.token()))
      #expect(world.anchor.content.hasSameRoots(as: prints))
    }
  }

  /// The anchor is told both root keys before the commit: a death at any commit of a rotation leaves a store that opens.
  @Test(arguments: 1...4) func deathDuringARotation_leavesAStoreThatOpens(commit: Int) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      for moment in [CommitMoment.before(commit), .after(commit)] {
        world.crash(at: moment)
        _ = try? await Self.call(world, "agent.rotateRootKey")
        world.crash()
        try await world.restart()
        #expect(scene.works(try await scene.token()))
        #expect(world.anchor.content.rootCount == 1, "the anchor knows one root key again")
      }
    }
  }

  /// An anchor that goes on naming the old root key would refuse the store.
  @Test func rotationThatTheAnchorDoesNotTake_isRefusedAndChangesNothing() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.anchor.fail(.unavailable)
      let answer = try await Self.call(world, "agent.rotateRootKey")
      #expect(answer.code == 5001, "\(answer)")
      world.anchor.fail(nil)
      try await world.restart()
      #expect(scene.works(try await scene.token()))
      let done = try await Self.call(world, "agent.rotateRootKey")
      #expect(done.result?["keyEpoch"]?.integerValue == 2, "\(done)")
    }
  }

  // MARK: counts

  /// Changes that an old copy must not undo: a sign-out, a try at a PIN, a policy, a provider's settings.
  @Test(arguments: [
    ("account.signOut", #"{"account":"work","mode":"soft"}"#), ("account.rename", #"{"account":"work","alias":"x"}"#),
    ("secret.put", #"{"account":"work","name":"draft","value":"words"}"#),
    ("stepUp.enroll", #"{"account":"work","pin":"1234"}"#), ("provider.update", #"{"provider":"idp","clientId":"b"}"#),
    ("agent.addKeySlot", #"{"protection":"passphrase","passphrase":"correct horse"}"#), ("agent.rotateRootKey", "{}"),
  ]) func changesThatMatter_makeAnOlderCopyRefused(method: String, params: String) throws {
    try scenario { world in
      _ = try await Self.putBack(world) { _ in
        let answer = try await Self.call(world, method, params)
        #expect(answer.error == nil, "\(answer)")
      }
      await #expect(throws: (any Error).self) { try await world.restart() }
    }
  }

  /// Without an anchor for the store, or with an unreadable one, the store is opened: an anchor only confirms,
  /// and opens nothing.
  @Test(arguments: [true, false]) func storeWithoutAReadableAnchor_opens(isForgotten: Bool) throws {
    try scenario { world in
      let scene = try await Self.putBack(world, after: Self.refresh)
      if isForgotten { world.anchor.forget() } else { world.anchor.fail(.unavailable) }
      try await world.restart()
      #expect(try await scene.account().error == nil)
    }
  }

  /// A copy with no later write is not old.
  @Test func upToDateCopy_opens() throws {
    try scenario { world in
      let scene = try await Self.putBack(world) { scene in
        let entries = try await Self.call(world, "audit.list")
        let account = try await scene.account()
        #expect(entries.error == nil && account.error == nil)
      }
      try await world.restart()
      #expect(scene.works(try await scene.token()))
    }
  }

  /// The person accepts the old copy: every account is signed out, and none of its tokens is sent.
  @Test func acceptedOldCopy_signsOutEveryAccountAndSendsNoToken() throws {
    try scenario { world in
      let scene = try await Self.putBack(world) { scene in
        try await Self.refresh(scene)
        try await Self.refresh(scene)
      }
      let sent = scene.idp.requests(to: nil).count
      try await world.restart(acceptingOldStore: true)
      await world.clock.sleep(for: .seconds(3600))
      #expect(scene.idp.requests(to: nil).count == sent, "not even a revocation")
      #expect(try await scene.token().code == 2003)
      #expect(try await Self.call(world, "agent.status").result?["pendingRevocations"]?.integerValue == 0)
      // From here on it is an ordinary store.
      try await world.restart()
      try await world.signIn("alice", at: scene.provider, again: scene.account)
      #expect(scene.works(try await scene.token()))
      try await world.restart()
      #expect(scene.works(try await scene.token()))
      #expect(scene.idp.endOfGrant(scene.grant) == nil, "the lineage that came after the copy is not touched")
      let events = try await Self.call(world, "audit.list").result?["entries"]?.arrayValue ?? []
      #expect(events.contains { $0["event"]?.stringValue == "agent.acceptOldStore" })
    }
  }

  /// The person accepts the old copy of an account with a PIN: its operations are under the PIN then, and a hard sign-out
  /// still tells which of them are lost (docs/operations.md, Storage).
  @Test func acceptedOldCopyUnderAPIN_tellsTheOperationsThatAHardSignOutLoses() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let policy =
        #"{"name":"default","version":1,"capabilities":{"note":{"kind":"write","offlineWindowSeconds":86400}}}"#
      for (method, params) in [
        ("policy.set", #"{"name":"default","policy":\#(policy)}"#),
        ("stepUp.enroll", #"{"account":"work","pin":"2468"}"#),
      ] {
        let done = try await Self.call(world, method, params)
        #expect(done.error == nil, "\(done)")
      }
      let enqueued = try await Self.call(
        world, "operation.enqueue", #"{"account":"work","capability":"note","payload":1}"#)
      let name = try #require(enqueued.result?["operation"]?.stringValue, "\(enqueued)")
      world.crash()
      let old = world.disk.snapshot()
      try await world.restart()
      try await Self.refresh(scene)
      world.crash()
      world.disk.restore(old)
      try await world.restart(acceptingOldStore: true)
      #expect(try await Self.call(world, "operation.list", #"{"account":"work"}"#).code == 2008)
      let out = try await Self.call(world, "account.signOut", #"{"account":"work","mode":"hard"}"#)
      #expect(out.error == nil, "\(out)")
      let left = try await Self.call(world, "operation.list", #"{"account":"\#(scene.account)"}"#)
      let operations = try #require(left.result?["operations"]?.arrayValue, "\(left)")
      #expect(operations.map { $0["operation"]?.stringValue } == [name])
      #expect(operations.map { $0["status"]?.stringValue } == ["orphaned"])
    }
  }

  /// A row that was damaged when the copy was accepted, and is repaired afterwards, brings no token back.
  @Test func rowRepairedAfterAcceptingAnOldCopy_staysClosed() throws {
    try scenario { world in
      let scene = try await Self.putBack(world, after: Self.refresh)
      let grant = RecordKind(rawValue: 4)
      let sound = try #require(try world.tamper { try $0.records(kind: grant) }.first)
      var damaged = sound
      damaged.sealed[40] ^= 1
      let row = damaged
      try world.tamper { try $0.commit([.put(row)]) }
      let sent = scene.idp.requests(to: nil).count
      try await world.restart(acceptingOldStore: true)
      world.crash()
      try world.tamper { try $0.commit([.put(sound)]) }
      try await world.restart()
      let answer = try await scene.token()
      #expect(answer.code == 2003 || answer.code == 5002, "\(answer)")
      #expect(scene.idp.requests(to: nil).count == sent)
    }
  }

  /// Another agent on a copy of the store went on: this agent serves what it has and sends no refresh token.
  @Test(arguments: [true, false]) func storeOvertakenByItsCopyWhileTheAgentRuns_sendsNoRefreshToken(
    isAtOnce: Bool
  ) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      #expect(scene.works(try await scene.token()))
      let sent = scene.refreshes.count
      // Both copies look at the same moment, or one after the other.
      if isAtOnce { world.anchor.overtakeAfterRead() } else { world.anchor.overtake() }
      for _ in 0..<2 {
        let answer = try await scene.token(method: "token.refresh")
        #expect(answer.code == 5003, "\(answer)")
      }
      #expect(scene.works(try await scene.token()), "a cached token is served")
      await world.clock.sleep(for: .seconds(3600))
      #expect(scene.refreshes.count == sent)
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
      let client = try world.client()
      let findings = await client.call("agent.diagnose").result?["findings"]?.arrayValue ?? []
      #expect(findings.contains { $0["check"]?.stringValue == "anchor" && $0["severity"]?.stringValue == "problem" })
      world.anchor.overtake()
      await #expect(throws: (any Error).self) { try await world.restart() }
    }
  }

  /// The other copy may use the token that this one would revoke: a sign-out is queued, what waits in the outbox stays
  /// there, and no client is deregistered.
  @Test(arguments: ["atTheSignOut", "whileItWaits"])
  func overtakenStore_sendsNothingOfItsOutbox(overtaken moment: String) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      var options = Scene.options
      options.registration = .open
      let other = world.makeProvider("other", options: options)
      let added = try await Self.call(world, "provider.add", #"{"name":"other","issuer":"\#(other.idp.issuer)"}"#)
      #expect(added.error == nil, "\(added)")
      if moment == "atTheSignOut" { world.anchor.overtake() } else { world.network.isOnline = false }
      let out = try await Self.call(world, "account.signOut", #"{"account":"work","mode":"soft"}"#)
      #expect(out["revocation"] == "queued", "\(out)")
      if moment == "whileItWaits" { world.anchor.overtake() }
      world.network.isOnline = true
      let sent = scene.idp.requests(to: nil).count
      let sentToOther = other.idp.requests(to: nil).count
      #expect(try await Self.call(world, "provider.remove", #"{"provider":"other"}"#).error == nil)
      #expect(try await Self.call(world, "connectivity.report", #"{"online":true}"#).error == nil)
      #expect(try await Self.call(world, "revocation.retry").error == nil)
      await world.clock.sleep(for: .seconds(86_400))
      #expect(scene.idp.requests(to: nil).count == sent && other.idp.requests(to: nil).count == sentToOther)
      #expect(scene.idp.isActive(refreshToken: scene.firstRefreshToken))
      #expect(try await Self.call(world, "agent.status").result?["pendingRevocations"]?.integerValue == 1)
    }
  }

  /// Counting on from there would overflow: refused, also by a person who accepts an old copy.
  @Test(arguments: [UInt64.max, 1 << 63, (1 << 62) + 1] as [UInt64], [true, false])
  func anchorWithACountThatNoStoreReaches_isRefused(count: UInt64, accepting: Bool) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.crash()
      world.anchor.damage(count)
      await #expect(throws: (any Error).self) { try await world.restart(acceptingOldStore: accepting) }
      world.anchor.forget()
      try await world.restart()
      #expect(scene.works(try await scene.token()), "nothing of the store was changed")
    }
  }

  /// The store may be as old as any: refused, unless the person accepts it. Then every account is signed out.
  @Test func damagedAnchor_isRefusedUnlessThePersonAcceptsTheStore() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let sent = scene.refreshes.count
      world.crash()
      world.anchor.fail(.damaged)
      await #expect(throws: (any Error).self) { try await world.restart() }
      await #expect(throws: (any Error).self, "it is refused again, and opening changed nothing") {
        try await world.restart()
      }
      try await world.restart(acceptingOldStore: true)
      try await scene.token().isExpected(2003, account: scene.account)
      #expect(scene.refreshes.count == sent)
      #expect(scene.idp.isActive(refreshToken: scene.firstRefreshToken), "no token was sent, not even to be revoked")
      world.crash()
      world.anchor.fail(nil)
      try await world.restart()
      try await scene.token().isExpected(2003, account: scene.account)
    }
  }

  /// With an up-to-date store the option changes nothing.
  @Test func acceptingAnUpToDateStore_keepsItsAccounts() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      try await world.restart(acceptingOldStore: true)
      #expect(scene.works(try await scene.token()))
    }
  }
}
