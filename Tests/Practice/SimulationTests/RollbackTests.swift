import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// An old copy of the whole store is put back (docs/storage.md, Anchors).
@Suite struct RollbackTests {
  /// Alice is signed in, the disk is copied, `meanwhile` happens, and the copy is put back.
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

  @Test func itDoesNotOpenAndSendsNothing() throws {
    try scenario { world in
      let scene = try await Self.putBack(world, after: Self.refresh)
      let sent = scene.refreshes.count
      await #expect(throws: (any Error).self) { try await world.restart() }
      await world.clock.sleep(for: .seconds(3600))
      #expect(scene.refreshes.count == sent)
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  /// Opening a slot for the first time after a rotation writes to the store: not before it is known to be no old one.
  @Test func anOldCopyOfAStoreWhoseKeyWasRotated() throws {
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
      await #expect(throws: (any Error).self, "it is told again, and not mended by being looked at") {
        try await world.restart()
      }
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  /// What else must not come back: an account that is signed out, a try at a PIN, a policy, a provider's settings.
  @Test(arguments: [
    ("account.signOut", #"{"account":"work","mode":"soft"}"#), ("account.rename", #"{"account":"work","alias":"x"}"#),
    ("secret.put", #"{"account":"work","name":"draft","value":"words"}"#),
    ("stepUp.enroll", #"{"account":"work","pin":"1234"}"#), ("provider.update", #"{"provider":"idp","clientId":"b"}"#),
    ("agent.addKeySlot", #"{"protection":"passphrase","passphrase":"correct horse"}"#), ("agent.rotateRootKey", "{}"),
  ]) func whatCounts(method: String, params: String) throws {
    try scenario { world in
      _ = try await Self.putBack(world) { _ in
        let answer = try await Self.call(world, method, params)
        #expect(answer.error == nil, "\(answer)")
      }
      await #expect(throws: (any Error).self) { try await world.restart() }
    }
  }

  /// Where no anchor knows the store, or none can be asked, it is opened: an anchor is a witness, not a key.
  @Test(arguments: [true, false]) func withoutAWitnessItOpens(isForgotten: Bool) throws {
    try scenario { world in
      let scene = try await Self.putBack(world, after: Self.refresh)
      if isForgotten { world.anchor.forget() } else { world.anchor.fail(.unavailable) }
      try await world.restart()
      #expect(try await scene.account().error == nil)
    }
  }

  /// A copy of which nothing was written since is no old one.
  @Test func aCopyThatIsUpToDateOpens() throws {
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

  /// The person says that there is no other: everybody is signed out, and no token of it goes anywhere.
  @Test func itIsAcceptedWithoutItsTokens() throws {
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
      // From here on it is as any other store.
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

  /// A row that did not open when the copy was accepted, and is put right afterwards, brings no token back.
  @Test func whatWasDamagedThenStaysClosed() throws {
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

  /// With a store that is as new as its anchor the word changes nothing.
  @Test func aStoreThatIsNotOldKeepsItsAccounts() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      try await world.restart(acceptingOldStore: true)
      #expect(scene.works(try await scene.token()))
    }
  }
}
