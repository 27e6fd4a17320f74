import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// Decisions with a locked vault, an ending agent or an unusable account (docs/offline.md, Decisions).
@Suite(.tellsItsSeed) struct DecisionTests {
  private static let policy = #"""
    {"name":"default","policy":{"name":"default","version":1,"capabilities":{"read":{"kind":"read","offlineWindowSeconds":600}}}}
    """#

  private static func signedIn(_ world: SimulatedWorld) async throws -> Scene {
    let scene = try await Scene.signedIn(world)
    #expect(try await world.client().call("policy.set", policy).error == nil)
    return scene
  }

  private static func check(_ world: SimulatedWorld, _ account: String) async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call("authorization.check", #"{"account":"\#(account)","capability":"read"}"#)
  }

  /// `allow`, a denial's reason, or an error's code.
  private static func word(_ answer: SimulatedAnswer) -> String {
    if let code = answer.code { return "\(code)" }
    return answer["effect"] == "deny" ? answer["reason"] ?? "?" : answer["effect"] ?? "lost"
  }

  /// Each answer is a decision or `agentLocked`: a policy that is not in memory must not deny as an unknown one.
  @Test func lockDuringDecisions_answersEachOrReportsLocked() throws {
    for seed in Seeds.asked(200) {
      try scenario(seed: seed) { world in
        let scene = try await Self.signedIn(world)
        let asking = try world.client()
        let ids = (0..<8).map { _ in
          asking.send("authorization.check", #"{"account":"\#(scene.account)","capability":"read"}"#)
        }
        #expect(try await world.client().call("agent.lock").error == nil)
        for id in ids {
          let word = Self.word(await asking.answer(to: id))
          #expect(["allow", "1001"].contains(word), "seed \(seed): \(word)")
        }
        #expect(Self.word(try await Self.check(world, scene.account)) == "1001", "seed \(seed)")
        let explained = try await world.client().call(
          "policy.explain", #"{"account":"\#(scene.account)","capability":"read"}"#)
        #expect(explained.code == 1001, "seed \(seed): \(explained)")
        #expect(try await world.client().call("agent.unlock").error == nil)
        #expect(Self.word(try await Self.check(world, scene.account)) == "allow", "seed \(seed)")
      }
    }
  }

  @Test func shutdownDuringDecisions_answersEachOrEndsIt() throws {
    for seed in Seeds.asked(200) {
      try scenario(seed: seed) { world in
        let scene = try await Self.signedIn(world)
        let asking = try world.client()
        let ids = (0..<8).map { _ in
          asking.send("authorization.check", #"{"account":"\#(scene.account)","capability":"read"}"#)
        }
        _ = try await world.client().call("agent.shutdown")
        for id in ids {
          let word = Self.word(await asking.answer(to: id))
          #expect(["allow", "1002", "lost"].contains(word), "seed \(seed): \(word)")
        }
        try await world.restart()
        #expect(Self.word(try await Self.check(world, scene.account)) == "allow", "seed \(seed)")
      }
    }
  }

  @Test(arguments: ["soft", "hard", "offline"]) func signedOutAccount_isDeniedUntilForgotten(mode: String) throws {
    try scenario { world in
      let scene = try await Self.signedIn(world)
      let client = try world.client()
      let account = #"{"account":"\#(scene.account)""#
      #expect(await client.call("account.signOut", account + #","mode":"\#(mode)"}"#).error == nil)
      for _ in 0..<2 {
        let answer = try await Self.check(world, scene.account)
        #expect(Self.word(answer) == "signedOut" && answer["effect"] == "deny", "\(answer)")
        try await world.restart()
      }
      #expect(try await world.client().call("account.forget", account + "}").error == nil)
      #expect(Self.word(try await Self.check(world, scene.account)) == "2001")
    }
  }

  @Test func damagedAccount_isRefusedAndOthersDecided() throws {
    try scenario { world in
      let scene = try await Self.signedIn(world)
      world.crash()
      let work = try #require(try world.tamper { try $0.partitions().first { $0 != .vault } })
      try await world.restart()
      let bob = try await world.signIn("bob", at: scene.provider, alias: "home")
      world.crash()
      try world.tamper { store in
        try store.commit([.delete(RecordKey(partition: work, kind: RecordKind(rawValue: 4)))])
      }
      try await world.restart()
      #expect(Self.word(try await Self.check(world, scene.account)) == "5002")
      #expect(Self.word(try await Self.check(world, bob)) == "allow")
    }
  }

  /// The provider can't answer while its last token is valid: the account is not online, and the offline window runs.
  @Test(arguments: [
    Incident.notConnected(.refused), .untrusted(.unknownAuthority), .lostAnswer(.reset), .notConnected(.nameNotFound),
  ])
  func deadProvider_isNotOnline(incident: Incident) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let other = try await world.provider("other")
      try await world.signIn("bob", at: other, alias: "home")
      let client = try world.client()
      let set = await client.call(
        "policy.set",
        #"{"name":"default","policy":{"name":"default","version":1,"capabilities":{"#
          + #""fresh":{"kind":"write","token":"fresh"},"read":{"kind":"read","offlineWindowSeconds":600}}}}"#)
      #expect(set.error == nil, "\(set)")
      func reasons() async -> [String] {
        let answer = await client.call(
          "authorization.checkMany", #"{"account":"\#(scene.account)","capabilities":["fresh","read"]}"#)
        return answer.result?["decisions"]?.arrayValue?.compactMap { $0["reason"]?.stringValue } ?? []
      }
      #expect(await reasons() == ["allowed", "allowed"])
      world.network.next("/token", incident, host: "idp.test", times: nil)
      // A denial has the provider asked with the token at hand: that finds it as dead.
      world.network.next("/userinfo", incident, host: "idp.test", times: nil)
      _ = try await scene.token(method: "token.refresh")
      #expect(await client.call("token.refresh", #"{"account":"home"}"#).error == nil)
      #expect(try await scene.token()["accessToken"] != nil, "the token serves on")
      #expect(await reasons() == ["onlineRequired", "allowed"])
      if case .notConnected(.nameNotFound) = incident {
        // The network may be back, and no exchange has shown it yet.
        world.signals.fire(.clockChanged)
        #expect(await reasons() == ["onlineRequired", "allowed"])
      }
      // The provider's next answer ends it: a token, or a sign-in where a strict server may have spent the grant.
      world.network.clearIncidents()
      await world.clock.sleep(for: .seconds(400))
      if case .lostAnswer = incident {
        try await world.signIn("alice", at: scene.provider, again: scene.account)
      } else {
        #expect(scene.works(try await scene.token(method: "token.refresh")))
      }
      #expect(await reasons() == ["allowed", "allowed"])
    }
  }

  /// Programs that check at the same time share one question to the provider; a lock meanwhile is told to each.
  @Test func checksForWantOfAnAnswer_shareOneConfirmation() throws {
    for seed in Seeds.asked(100) {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        let client = try world.client()
        let set = await client.call(
          "policy.set",
          #"{"name":"default","policy":{"name":"default","version":1,"capabilities":{"fresh":{"kind":"write","token":"fresh"}}}}"#
        )
        #expect(set.error == nil, "\(set)")
        await world.clock.sleep(for: .seconds(7200))
        func asked() -> Int { world.network.count("/token") + world.network.count("/userinfo") }
        func check() -> [Int] {
          (0..<16).map { _ in
            client.send(
              "authorization.check", #"{"account":"\#(scene.account)","capability":"fresh","waitSeconds":30}"#)
          }
        }
        let before = asked()
        for id in check() {
          let word = Self.word(await client.answer(to: id))
          #expect(word == "allow", "seed \(seed): \(word)")
        }
        #expect(asked() == before + 1, "seed \(seed)")
        await world.clock.sleep(for: .seconds(7200))
        let ids = check()
        #expect(try await world.client().call("agent.lock").error == nil)
        for id in ids {
          let word = Self.word(await client.answer(to: id))
          #expect(["allow", "freshTokenRequired", "1001"].contains(word), "seed \(seed): \(word)")
        }
      }
    }
  }

  /// The roles could not be fetched since the sign-in: the forbidden role may be among them.
  @Test func unknownRoles_areDeniedWhereARoleIsForbidden() throws {
    try scenario { world in
      world.network.next("/userinfo", .notConnected(.refused), host: "idp.test", times: nil)
      let scene = try await Scene.signedIn(world, more: #","authorization":{"rolesClaim":"staff"}"#)
      let client = try world.client()
      let set = await client.call(
        "policy.set",
        #"{"name":"default","policy":{"name":"default","version":1,"capabilities":{"read":{"kind":"read"}},"#
          + #""forbids":[{"capabilities":["read"],"whenRole":"trainee"}]}}"#)
      #expect(set.error == nil, "\(set)")
      #expect(Self.word(try await Self.check(world, scene.account)) == "snapshotMissing")
      world.network.clearIncidents()
      #expect(await client.call("snapshot.refresh", #"{"account":"\#(scene.account)"}"#).error == nil)
      #expect(Self.word(try await Self.check(world, scene.account)) == "allow")
    }
  }
}
