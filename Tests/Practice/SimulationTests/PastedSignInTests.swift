import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Sign-ins completed by hand: the redirect of a browser elsewhere, and refresh tokens of other programs.
@Suite(.tellsItsSeed) struct PastedSignInTests {
  private func complete(_ client: SimulatedClient, _ id: String?, _ text: String) async -> SimulatedAnswer {
    await client.call("signIn.complete", #"{"signIn":"\#(id ?? "")","redirectUrl":"\#(text)"}"#)
  }

  @Test func pasteSignIn_opensNoListener() throws {
    try scenario { world in
      let provider = try await world.provider("idp")
      let client = try world.client()
      let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"paste"}"#)
      #expect(world.browser.listening.isEmpty)
      let address = try provider.idp.authorize(url: try #require(begun["authorizationUrl"]), as: "alice")
      #expect(await world.browser.visit(address) == nil)
      #expect(await complete(client, begun["signIn"], address)["status"] == "completed")
    }
  }

  @Test func pastedRedirect_closesTheListener() throws {
    for seed in Seeds.asked(60) {
      try scenario(seed: seed) { world in
        let provider = try await world.provider("idp")
        let client = try world.client()
        let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"browser"}"#)
        let address = try provider.idp.authorize(url: try #require(begun["authorizationUrl"]), as: "alice")
        // Both at once: the browser comes back too.
        async let page = world.browser.visit(address)
        let brought = await complete(client, begun["signIn"], address)
        #expect(brought["status"] == "completed", "seed \(seed): \(brought)")
        _ = await page
        #expect(world.network.count("/token") == 1, "the code is redeemed once, seed \(seed)")
        #expect(world.browser.listening.isEmpty, "seed \(seed)")
      }
    }
  }

  /// The client disconnects after pasting: the issued tokens are not lost.
  @Test func clientLeavingAfterThePaste_isStillSignedIn() throws {
    try scenario { world in
      let provider = try await world.provider("idp")
      let client = try world.client()
      let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"paste","alias":"work"}"#)
      let id = begun["signIn"] ?? ""
      let address = try provider.idp.authorize(url: try #require(begun["authorizationUrl"]), as: "alice")
      let gate = Gate()
      world.network.next("/token", .heldAfter(gate))
      client.send("signIn.complete", #"{"signIn":"\#(id)","redirectUrl":"\#(address)"}"#)
      await gate.reached()
      client.disconnect()
      gate.open()
      let ended = try await world.client().call("signIn.wait", #"{"signIn":"\#(id)"}"#)
      #expect(ended["status"] == "completed")
    }
  }

  @Test func pasteSignInsOfOneAccount_areDistinguishedByState() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let client = try world.client()
      var begun: [SimulatedAnswer] = []
      for _ in 0..<2 {
        begun.append(
          await client.call("signIn.begin", #"{"provider":"idp","flow":"paste","account":"\#(scene.account)"}"#))
      }
      let addresses = try begun.map { try scene.idp.authorize(url: try #require($0["authorizationUrl"]), as: "alice") }
      #expect(await complete(client, begun[0]["signIn"], addresses[1]).reason == "stateMismatch")
      #expect(await complete(client, begun[1]["signIn"], addresses[1])["account"] == scene.account)
      #expect(await complete(client, begun[0]["signIn"], addresses[0])["account"] == scene.account)
      #expect(scene.works(try await scene.token()))
    }
  }

  @Test func signInAgain_sendsTheLoginHint() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let begun = try await world.client().call(
        "signIn.begin", #"{"provider":"idp","flow":"paste","account":"\#(scene.account)","prompt":"login"}"#)
      let url = try #require(begun["authorizationUrl"])
      #expect(url.contains("&login_hint=alice%40acme.example"), "\(url)")
      #expect(url.contains("&prompt=login"))
    }
  }

  // MARK: refresh tokens

  private func importing(_ token: String, _ more: String = "", into world: SimulatedWorld) async throws
    -> SimulatedAnswer
  {
    try await world.client().call("signIn.import", #"{"provider":"idp","refreshToken":"\#(token)"\#(more)}"#)
  }

  /// Conflicts that can be known are found before the token is spent.
  @Test func importThatMustFail_spendsNoToken() throws {
    try scenario { world in
      let provider = try await world.provider("idp")
      let other = try await world.provider("other")
      let token = try #require(try provider.idp.signIn(user: "alice").refreshToken)
      // Before any sign-in: it reserves space for the next one.
      world.disk.setCapacity(0)
      #expect(try await importing(token, into: world).code == 5001)
      world.disk.setCapacity(nil)
      try await world.signIn("bob", at: other, alias: "work")
      #expect(try await importing(token, #","alias":"work""#, into: world).code == 2002)
      #expect(provider.idp.isActive(refreshToken: token))
      #expect(world.network.count("/token", host: "idp.test") == 0)
      #expect(try await importing(token, into: world).error == nil)
    }
  }

  /// A conflict that could not be known: the successor has no account, so it is revoked.
  @Test(arguments: [true, false]) func failedImport_revokesTheSuccessor(isOnline: Bool) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let token = try #require(try scene.idp.signIn(user: "bob").refreshToken)
      if !isOnline { world.network.next("/revoke", .notConnected(.refused)) }
      let refused = try await importing(token, #","alias":"work""#, into: world)
      #expect(refused.code == 2002, "\(refused)")
      let entries = { try await world.client().call("revocation.list").result?["revocations"]?.arrayValue }
      if !isOnline {
        await world.clock.sleep(for: .seconds(1))
        #expect(try await entries()?.count == 1, "it is remembered until it is done")
      }
      await world.clock.sleep(for: .seconds(120))
      #expect(try await entries()?.isEmpty == true)
      #expect(scene.idp.activeRefreshTokens(user: "bob").isEmpty)
      #expect(scene.works(try await scene.token()), "Alice notices nothing")
    }
  }

  /// Without rotation the imported token stays the person's own, and valid.
  @Test func failedImportWithoutRotation_keepsTheToken() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, rotation: .none)
      let token = try #require(try scene.idp.signIn(user: "bob").refreshToken)
      #expect(try await importing(token, #","alias":"work""#, into: world).code == 2002)
      await world.clock.sleep(for: .seconds(120))
      #expect(scene.idp.isActive(refreshToken: token))
      #expect(world.network.count("/revoke") == 0)
    }
  }

  /// A revocation of the whole grant would sign out the account that the person already has.
  @Test func failedSignInWithGrantRevocation_signsOutNoAccount() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: #","refresh":{"reuse":"strict"},"revocationScope":"grant""#)
      try await world.signIn("bob", at: scene.provider, alias: "home")
      await #expect(throws: SceneFailed.self) { try await world.signIn("alice", at: scene.provider, alias: "home") }
      await world.clock.sleep(for: .seconds(120))
      #expect(world.network.count("/revoke") == 0)
      #expect(scene.works(try await scene.token(method: "token.refresh")))
    }
  }
}
