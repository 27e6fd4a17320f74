import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// An import that the agent's end, a locking or the person interrupts (docs/tokens.md, Imports).
@Suite(.tellsItsSeed) struct ImportCrashTests {
  private static func params(_ token: String) -> String {
    #"{"provider":"idp","refreshToken":"\#(token)","alias":"bob"}"#
  }

  private static func importing(_ token: String, _ world: SimulatedWorld) async throws -> SimulatedAnswer {
    try await world.client().call("signIn.import", params(token))
  }

  /// Bob's account as `account.list` has it; nil if there is none.
  private static func bob(_ world: SimulatedWorld) async throws -> String? {
    let list = try await world.client().call("account.list").result?["accounts"]?.arrayValue ?? []
    return list.first { $0["alias"]?.stringValue == "bob" }?["account"]?.stringValue
  }

  /// An import whose answer has no ID token, held while userinfo is asked. Returns Bob's token and the gate.
  private static func heldAtUserInfo(
    _ idp: PracticeProvider, _ world: SimulatedWorld, user: String = "bob"
  ) async throws -> (token: String, client: SimulatedClient, request: Int, gate: Gate) {
    let token = try #require(try idp.signIn(user: user).refreshToken)
    idp.enqueueFault("/token", Fault(.changeAnswer(["id_token": .null])))
    let gate = Gate()
    world.network.next("/userinfo", .heldBefore(gate))
    let client = try world.client()
    let request = client.send("signIn.import", params(token))
    await gate.reached()
    return (token, client, request, gate)
  }

  /// The agent dies while userinfo is asked, and the next one does not reach that.
  private static func interrupt(
    _ idp: PracticeProvider, _ world: SimulatedWorld, user: String = "bob"
  ) async throws -> String {
    let held = try await heldAtUserInfo(idp, world, user: user)
    world.network.next("/userinfo", .notConnected(.refused), times: nil)
    try await world.restart()
    await world.clock.sleep(for: .seconds(60))
    return held.token
  }

  /// The next agent reaches userinfo again, and has tried.
  private static func reconnect(_ world: SimulatedWorld) async {
    world.network.clearIncidents()
    await world.clock.sleep(for: .seconds(600))
  }

  /// The commits are those of the request, of the mark that it leaves, of the answer, and of the account.
  @Test(arguments: [RefreshTokenRotation.strict, .none], 1...4)
  func deathAtACommit_losesNoSuccessor(rotation: RefreshTokenRotation, commit: Int) throws {
    for dies in [CommitMoment.before(commit), .after(commit)] {
      try scenario { world in
        let scene = try await Scene.signedIn(world, rotation: rotation)
        let token = try #require(try scene.idp.signIn(user: "bob").refreshToken)
        let before = world.network.count("/token")
        world.crash(at: dies)
        _ = try await Self.importing(token, world)
        try await world.restart()
        await world.clock.sleep(for: .seconds(5))
        let sent = world.network.count("/token") - before
        #expect(sent == (commit < 3 ? 0 : 1), "\(dies)")
        let isStored = dies == .after(3) || commit == 4
        #expect((try await Self.bob(world) != nil) == isStored, "\(dies)")
        let again = try await Self.importing(token, world)
        // After the mark the agent can't know whether the request left.
        let isInDoubt = dies == .after(2) || dies == .before(3)
        if isInDoubt, case .strict = rotation {
          #expect(again.code == 2007 && "\(again)".contains("is used up"), "\(dies): \(again)")
          #expect(world.network.count("/token") - before == sent, "\(dies)")
        } else {
          let account = try #require(again["account"], "\(dies): \(again)")
          #expect(scene.works(try await scene.tokenOf(account)), "\(dies)")
          let renewed = try await world.client().call("token.refresh", #"{"account":"\#(account)"}"#)
          #expect(scene.works(renewed), "\(dies): \(renewed)")
        }
      }
    }
  }

  @Test func deathWhileUserInfoIsAsked_leavesTheAccount() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let held = try await Self.heldAtUserInfo(scene.idp, world)
      let sent = world.network.count("/token")
      try await world.restart()
      await world.clock.sleep(for: .seconds(5))
      let account = try #require(try await Self.bob(world))
      #expect(scene.works(try await scene.tokenOf(account)))
      #expect(try await Self.importing(held.token, world)["account"] == account)
      #expect(world.network.count("/token") == sent)
      #expect(world.network.count("/revoke") == 0)
      // Nothing is left to go on with.
      try await world.restart()
      let asked = world.network.count("/userinfo")
      await world.clock.sleep(for: .seconds(600))
      #expect(world.network.count("/userinfo") == asked)
    }
  }

  @Test func providerOutOfReach_isWaitedFor() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      _ = try await Self.interrupt(scene.idp, world)
      #expect(try await Self.bob(world) == nil)
      let told = try await world.client().call("agent.diagnose")
      #expect("\(told)".contains("An import was interrupted"), "\(told)")
      await Self.reconnect(world)
      let account = try #require(try await Self.bob(world))
      #expect(scene.works(try await scene.tokenOf(account)))
      let cured = try await world.client().call("agent.diagnose")
      #expect(!"\(cured)".contains("An import was interrupted"), "\(cured)")
    }
  }

  /// It could end the login that the answer brings, after a start and between the tries as well.
  @Test func revocationThatWaits_waitsForTheStoredAnswer() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: #","revocationScope":"grant""#)
      world.network.next("/revoke", .notConnected(.refused), times: nil)
      let out = try await world.client().call("account.signOut", #"{"account":"work","mode":"soft"}"#)
      #expect(out.error == nil, "\(out)")
      _ = try await Self.interrupt(scene.idp, world, user: "alice")
      world.network.clearIncidents()
      world.network.next("/userinfo", .notConnected(.refused), times: nil)
      let sent = world.network.count("/revoke")
      // Between two tries, and within the life of the access token, which userinfo takes.
      await world.clock.sleep(for: .seconds(30))
      #expect(world.network.count("/revoke") == sent)
      await Self.reconnect(world)
      let account = try #require(try await Self.bob(world))
      #expect(scene.works(try await scene.tokenOf(account)))
      #expect(world.network.count("/revoke") == sent)
    }
  }

  /// The token is the person's own still where the provider does not rotate: nothing is in doubt, and nothing is spent.
  @Test func refusalWhileTheVaultIsLocked_leavesNoDoubt() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let token = try #require(try scene.idp.signIn(user: "bob").refreshToken)
      scene.idp.enqueueFault("/token", .status(503))
      let gate = Gate()
      world.network.next("/token", .heldBefore(gate))
      let client = try world.client()
      let request = client.send("signIn.import", Self.params(token))
      await gate.reached()
      #expect(try await world.client().call("agent.lock").error == nil)
      gate.open()
      #expect(await client.answer(to: request).error != nil)
      #expect(try await world.client().call("agent.unlock").error == nil)
      let again = try await Self.importing(token, world)
      #expect(again["account"] != nil, "\(again)")
    }
  }

  @Test func aliasThatIsTakenMeanwhile_isLeftOut() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      _ = try await Self.interrupt(scene.idp, world)
      let renamed = try await world.client().call("account.rename", #"{"account":"work","alias":"bob"}"#)
      #expect(renamed.error == nil, "\(renamed)")
      await Self.reconnect(world)
      let list = try await world.client().call("account.list").result?["accounts"]?.arrayValue ?? []
      #expect(list.count == 2)
      #expect(scene.idp.activeRefreshTokens(user: "bob").count == 1)
    }
  }

  /// It goes on with the stored answer at once, and sends no token.
  @Test func importThatIsRepeated_goesOnWithTheStoredAnswer() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let token = try await Self.interrupt(scene.idp, world)
      let sent = world.network.count("/token")
      let early = try await Self.importing(token, world)
      #expect(early.error != nil, "\(early)")
      world.network.clearIncidents()
      let account = try #require(try await Self.importing(token, world)["account"])
      #expect(scene.works(try await scene.tokenOf(account)))
      #expect(world.network.count("/token") == sent)
    }
  }

  @Test func providerThatNeverComesBack_losesItsTokenToTheOutbox() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      _ = try await Self.interrupt(scene.idp, world)
      await world.clock.sleep(for: .seconds(25 * 60 * 60))
      #expect(try await Self.bob(world) == nil)
      #expect(scene.idp.activeRefreshTokens(user: "bob").isEmpty)
    }
  }

  @Test func providerThatIsRemovedMeanwhile_getsTheRevocation() throws {
    try scenario { world in
      let idp = try await world.provider("idp", options: Scene.options).idp
      _ = try await Self.interrupt(idp, world)
      #expect(try await world.client().call("provider.remove", #"{"provider":"idp"}"#).error == nil)
      await Self.reconnect(world)
      #expect(idp.activeRefreshTokens(user: "bob").isEmpty)
      #expect(try await Self.bob(world) == nil)
    }
  }

  @Test(arguments: ["soft", "hard"]) func personWhoSignedOutMeanwhile_isNotSignedInAgain(mode: String) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      _ = try await Self.interrupt(scene.idp, world, user: "alice")
      let out = try await world.client().call("account.signOut", #"{"account":"work","mode":"\#(mode)"}"#)
      #expect(out.error == nil, "\(out)")
      await Self.reconnect(world)
      #expect(try await scene.account()["state"] == "signedOut")
      #expect(scene.idp.activeRefreshTokens(user: "alice").isEmpty)
    }
  }

  /// Its caller was told that no account came of it.
  @Test func lockingWhileUserInfoIsAsked_revokesTheSuccessor() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let held = try await Self.heldAtUserInfo(scene.idp, world)
      #expect(try await world.client().call("agent.lock").error == nil)
      held.gate.open()
      let refused = await held.client.answer(to: held.request)
      #expect(refused.code == 2007, "\(refused)")
      #expect(try await world.client().call("agent.unlock").error == nil)
      await world.clock.sleep(for: .seconds(120))
      #expect(try await Self.bob(world) == nil)
      #expect(scene.idp.activeRefreshTokens(user: "bob").isEmpty)
    }
  }

  /// A provider where a reuse may end other sessions is not asked again.
  @Test func lostAnswerWhereARevocationEndsGrants_isNotAskedForAgain() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: #","revocationScope":"grant""#)
      let token = try #require(try scene.idp.signIn(user: "bob").refreshToken)
      world.network.next("/token", .lostAnswer(.reset))
      #expect(try await Self.importing(token, world).code == 2007)
      let sent = world.network.count("/token")
      for isRestarted in [false, true] {
        if isRestarted { try await world.restart() }
        await world.clock.sleep(for: .seconds(600))
        let again = try await Self.importing(token, world)
        #expect(again.code == 2007, "\(again)")
        #expect("\(again)".contains("is used up"), "\(again)")
        #expect(world.network.count("/token") == sent)
      }
    }
  }
}
