import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// The rights of a person, as the provider last reported them, under any failure (docs/offline.md, Snapshots).
@Suite(.tellsItsSeed) struct SnapshotScenarios {
  private static let told =
    #","authorization":{"rolesClaim":"roles","entitlementsUrl":"https://idp.test/entitlements"}"#

  private struct Snapshot: Equatable {
    var roles: [String]
    var entitlements: [String]
    var version: Int64
    var fetchedAt: String

    init?(_ answer: SimulatedAnswer) {
      guard let result = answer.result, let version = result["version"]?.integerValue else { return nil }
      roles = result["roles"]?.arrayValue?.compactMap(\.stringValue) ?? []
      entitlements = result["entitlements"]?.arrayValue?.compactMap(\.stringValue) ?? []
      self.version = version
      fetchedAt = result["fetchedAt"]?.stringValue ?? ""
    }

    func saysTheSame(as other: Snapshot) -> Bool { roles == other.roles && entitlements == other.entitlements }
  }

  private static func ask(
    _ world: SimulatedWorld, _ account: String, _ method: String = "snapshot.get"
  ) async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call(method, #"{"account":"\#(account)"}"#)
  }

  /// An administrator changes Alice's rights repeatedly, and the agent dies in between: each part of the snapshot is
  /// from
  /// some round and never goes back to an earlier one, the version grows exactly when the rights change, and Carol's
  /// stay
  /// unchanged.
  @Test func killAtAnyMoment_neverMovesTheSnapshotBack() async throws {
    try await everySeed(300) { world, chance in
      let scene = try await Scene.signedIn(world, rotation: .none, more: #","refresh":{"reuse":"none"}"# + Self.told)
      let carol = try await world.signIn("carol", at: scene.provider, alias: "carol")
      _ = try await Self.ask(world, carol, "snapshot.refresh")
      let hers = try #require(Snapshot(try await Self.ask(world, carol)))
      #expect(hers.roles == ["trainee"] && hers.entitlements == ["workorders.basic"])
      _ = try await Self.ask(world, scene.account, "snapshot.refresh")
      var last = try #require(Snapshot(try await Self.ask(world, scene.account)))
      var known = (role: 0, entitlement: 0)
      for round in 1...4 {
        try scene.idp.setUser("alice@acme", roles: ["r\(round)"], entitlements: ["e\(round)"])
        if chance.coin() {
          let commit = chance.number(1...4)
          world.crash(at: chance.coin() ? .before(commit) : .after(commit))
        }
        let answer = try await Self.ask(world, scene.account, chance.one(of: ["snapshot.refresh", "token.refresh"]))
        await world.clock.sleep(for: chance.milliseconds(0...300))
        if !world.isRunning || chance.coin() { try await world.restart() }
        let now = try #require(Snapshot(try await Self.ask(world, scene.account)))
        let role = Int(now.roles.first?.dropFirst() ?? "") ?? 0
        let entitlement = Int(now.entitlements.first?.dropFirst() ?? "") ?? 0
        #expect(known.role...round ~= role && known.entitlement...round ~= entitlement, "\(now) after \(last)")
        if let whole = Snapshot(answer) {
          // The roles may be older than the round: an exchange interrupted by a death is resumed.
          #expect(whole.entitlements == ["e\(round)"], "\(answer)")
          // A fetch that was on its way may have confirmed it once more since.
          #expect(
            now.saysTheSame(as: whole) && now.version == whole.version && now.fetchedAt >= whole.fetchedAt,
            "the stored snapshot is the reported one, \(whole), and not \(now)")
        }
        #expect(now.saysTheSame(as: last) ? now.version == last.version : now.version > last.version)
        #expect(now.fetchedAt >= last.fetchedAt)
        (known.role, known.entitlement, last) = (role, entitlement, now)
      }
      #expect(Snapshot(try await Self.ask(world, carol)) == hers)
      try await world.restart()
      let healed = try #require(Snapshot(try await Self.ask(world, scene.account, "snapshot.refresh")))
      #expect(healed.roles == ["r4"] && healed.entitlements == ["e4"])
    }
  }

  /// A slow, silent or broken entitlements URL: tokens are served as usual, and the old snapshot stays with its age.
  @Test func brokenEntitlementsURL_delaysNoToken() async throws {
    try await everySeed(300) { world, chance in
      let scene = try await Scene.signedIn(world, more: Self.told)
      _ = try await Self.ask(world, scene.account, "snapshot.refresh")
      let before = try #require(Snapshot(try await Self.ask(world, scene.account)))
      await world.clock.sleep(for: .seconds(60))
      try scene.idp.setUser("alice@acme", entitlements: ["other"])
      scene.idp.enqueueFault(
        "/entitlements",
        chance.one(of: [
          Fault(.hangBeforeProcessing), .delay(milliseconds: 9000), .status(500), Fault(.notJSON),
          Fault(.dropAfterProcessing), Fault(.changeAnswer(["entitlements": "other"])), Fault(.endlessBody),
        ]))
      let asked = world.clock.boot()
      let answer = try await scene.token(method: "token.refresh")
      #expect(scene.works(answer), "\(answer)")
      #expect(world.clock.boot() - asked < .seconds(2))
      let after = try #require(Snapshot(try await Self.ask(world, scene.account)))
      #expect(after.saysTheSame(as: before) && after.version == before.version)
      #expect(after.fetchedAt < "2030-01-01T00:00:10", "as old as what was last said of the entitlements")
      #expect(try await scene.session()["state"] == "active")
      // Once the URL works, the next exchange fetches the entitlements, unless they were fetched before.
      await world.clock.sleep(for: .seconds(60))
      let healed = try #require(Snapshot(try await Self.ask(world, scene.account, "snapshot.refresh")))
      #expect(healed.entitlements == ["other"] && healed.version == before.version + 1)
    }
  }

  /// A fetch that fails is repeated without a caller and without an exchange, however many exchanges came meanwhile.
  @Test func failedFetch_isRepeatedWithoutACaller() async throws {
    try await everySeed(300) { world, chance in
      let scene = try await Scene.signedIn(world, more: Self.told)
      await world.clock.sleep(for: .seconds(60))
      try scene.idp.setUser("alice@acme", entitlements: ["other"])
      for _ in 0..<chance.number(1...4) { scene.idp.enqueueFault("/entitlements", .status(500)) }
      for _ in 0..<chance.number(1...3) {
        #expect(scene.works(try await scene.token(method: "token.refresh")))
        await world.clock.sleep(for: chance.milliseconds(0...8000))
      }
      let exchanges = scene.refreshes.count
      // Four failures are followed by pauses of 1, 4, 16 and 64 s.
      await world.clock.sleep(for: .seconds(90))
      let healed = try #require(Snapshot(try await Self.ask(world, scene.account)))
      #expect(healed.entitlements == ["other"])
      #expect(scene.refreshes.count == exchanges)
    }
  }

  /// Concurrent refreshes of the snapshot share one exchange and one fetch.
  @Test func concurrentSnapshotRefreshes_shareOneFetch() async throws {
    try await everySeed(300) { world, chance in
      let scene = try await Scene.signedIn(world, more: Self.told)
      await world.clock.sleep(for: .seconds(60))
      try scene.idp.setUser("alice@acme", entitlements: ["other"])
      let before = world.network.count("/entitlements")
      let crowd = try Crowd(world, clients: 3)
      let asked = crowd.ask(chance.number(2...20), "snapshot.refresh")
      for answer in await crowd.answers(asked) {
        #expect(Snapshot(answer)?.entitlements == ["other"], "\(answer)")
      }
      crowd.wasAnsweredOnce(asked.count)
      #expect(scene.refreshes.count == 1)
      #expect(world.network.count("/entitlements") - before == 1)
    }
  }

  /// Signed out while the fetch is on its way: none of its result is stored for a later account.
  @Test func signOutDuringASnapshotFetch_storesNothing() async throws {
    try await everySeed(300) { world, chance in
      let scene = try await Scene.signedIn(world, more: Self.told)
      await world.clock.sleep(for: .seconds(60))
      let witness = try await Witness.at(world)
      try scene.idp.setUser("alice@acme", entitlements: ["late"])
      let crowd = try Crowd(world, clients: 1)
      let asked = crowd.ask(1, "snapshot.refresh", #"{"account":"\#(scene.account)"}"#)
      await world.clock.sleep(for: chance.milliseconds(0...200))
      let client = try world.client()
      let mode = chance.one(of: ["soft", "hard", "offline"])
      let out = await client.call("account.signOut", #"{"account":"\#(scene.account)","mode":"\#(mode)"}"#)
      #expect(out["mode"] == mode, "\(out)")
      let changes = witness.received("snapshot.changed").count
      for answer in await crowd.answers(asked) { #expect(answer.error == nil || answer.code == 2003, "\(answer)") }
      await world.clock.sleep(for: .seconds(30))
      #expect(witness.received("snapshot.changed").count == changes, "no event for a signed-out account")
      let got = try await Self.ask(world, scene.account)
      #expect(got.code == (mode == "hard" ? 2003 : 2008), "\(got)")
      if chance.coin() { try await world.restart() }
      _ = try await world.signIn("alice", at: scene.provider)
      await world.clock.sleep(for: .seconds(5))
      let again = try #require(Snapshot(try await Self.ask(world, scene.account)))
      #expect(again.entitlements == ["late"], "the new sign-in asked by itself")
    }
  }
}
