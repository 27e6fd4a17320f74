import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// Signing in, signing in again under an alias, and every redirect that a browser can bring back.
@Suite(.tellsItsSeed) struct SignInTests {
  @Test func samePersonUnderTheSameAlias_keepsTheAccount() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      #expect(try await world.signIn("alice", at: scene.provider, alias: "work") == scene.account)
      let out = try await world.client().call("account.signOut", #"{"account":"work","mode":"hard"}"#)
      #expect(out.error == nil, "\(out)")
      #expect(try await world.signIn("alice", at: scene.provider, alias: "work") == scene.account)
      #expect(scene.works(try await scene.token()))
    }
  }

  @Test func anotherPerson_doesNotTakeTheAlias() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await #expect(throws: SceneFailed.self) { try await world.signIn("bob", at: scene.provider, alias: "work") }
      let accounts = try await world.client().call("account.list").result?["accounts"]?.arrayValue
      #expect(accounts?.count == 1)
      #expect(scene.works(try await scene.token()))

      let other = try await world.provider("other")
      let begun = try await world.client().call(
        "signIn.begin", #"{"provider":"\#(other.name)","flow":"browser","alias":"work"}"#)
      #expect(begun.code == 2002, "\(begun)")
    }
  }

  @Test func anotherSubjectThanTheNamedAccount_isRefused() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let client = try world.client()
      let begun = await client.call(
        "signIn.begin", #"{"provider":"idp","flow":"browser","account":"\#(scene.account)"}"#)
      let url = try #require(begun["authorizationUrl"])
      let page = await world.browser.visit(try scene.idp.authorize(url: url, as: "bob"))
      #expect(page?.status == 400)
      let ended = await client.call("signIn.wait", #"{"signIn":"\#(begun["signIn"] ?? "")"}"#)
      #expect(ended.code == 2007)
      #expect(ended.reason == "identityMismatch")
      #expect(scene.works(try await scene.token()))
    }
  }

  /// State, code and listener serve one answer.
  @Test func redirect_isAcceptedOnce() throws {
    try scenario { world in
      let provider = try await world.provider("idp")
      let client = try world.client()
      let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"browser"}"#)
      let location = try provider.idp.authorize(url: try #require(begun["authorizationUrl"]), as: "alice")
      let pages = await withTaskGroup(of: Int?.self) { group in
        for _ in 0..<3 { group.addTask { await world.browser.visit(location)?.status } }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(pages.filter { $0 == 200 }.count == 1)
      #expect(world.network.count("/token") == 1, "a code is redeemed once")
      #expect(world.browser.listening.isEmpty, "no listener is left")
      #expect(await world.browser.visit(location) == nil)
      let ended = await client.call("signIn.wait", #"{"signIn":"\#(begun["signIn"] ?? "")"}"#)
      #expect(ended["status"] == "completed")
    }
  }

  /// Any page of the web can have the browser send an answer to the redirect URI.
  @Test(arguments: [("state=[^&]*", "state=forged"), ("state=[^&]*&?", ""), ("state=", "state=a&state="), (".*", "")])
  func forgedRedirect_changesNothing(part: String, forged: String) throws {
    try scenario { world in
      let provider = try await world.provider("idp")
      let client = try world.client()
      let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"browser"}"#)
      let location = try provider.idp.authorize(url: try #require(begun["authorizationUrl"]), as: "alice")
      let address = location.split(separator: "?", maxSplits: 1)
      let query = String(address[1]).replacing(try Regex(part), with: forged)
      for _ in 0..<3 { #expect(await world.browser.visit("\(address[0])?\(query)")?.status == 400) }
      #expect(world.network.count("/token") == 0)
      #expect(await world.browser.visit(location)?.status == 200)
      let ended = await client.call("signIn.wait", #"{"signIn":"\#(begun["signIn"] ?? "")"}"#)
      #expect(ended["status"] == "completed")
    }
  }

  @Test func expiredSignIn_tellsHowManyForeignAnswersCame() throws {
    try scenario { world in
      let provider = try await world.provider("idp")
      let client = try world.client()
      let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"browser"}"#)
      let location = try provider.idp.authorize(url: try #require(begun["authorizationUrl"]), as: "alice")
      for number in 0..<200 {
        let forged = location.replacing(try Regex("state=[^&]*"), with: "state=forged\(number)")
        #expect(await world.browser.visit(forged)?.status == 400)
      }
      let ended = await client.call("signIn.wait", #"{"signIn":"\#(begun["signIn"] ?? "")"}"#)
      #expect(ended.reason == "expired")
      #expect(ended.line?.contains("100 answers") == true, "\(ended)")
      #expect(world.browser.listening.isEmpty)
    }
  }

  @Test func signInWithoutAVisit_timesOut() throws {
    try scenario { world in
      _ = try await world.provider("idp")
      let client = try world.client()
      let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"browser"}"#)
      let id = try #require(begun["signIn"])
      let pending = await client.call("signIn.wait", #"{"signIn":"\#(id)","timeoutSeconds":5}"#)
      #expect(pending["status"] == "pending")
      let ended = await client.call("signIn.wait", #"{"signIn":"\#(id)"}"#)
      #expect(ended.code == 2007)
      #expect(ended.reason == "expired")
      #expect(world.browser.listening.isEmpty)
    }
  }

  @Test(arguments: ["browser", "device", "paste"]) func browser_opensOnlyWhenRequested(flow: String) throws {
    try scenario { world in
      _ = try await world.provider("idp")
      let client = try world.client()
      for wish in ["", #","openBrowser":false"#] {
        let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"\#(flow)"\#(wish)}"#)
        #expect(begun.error == nil)
      }
      #expect(world.browser.opened.isEmpty, "no browser opens by itself")
      let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"\#(flow)","openBrowser":true}"#)
      let page = try #require(begun["authorizationUrl"] ?? begun["verificationUriComplete"])
      #expect(world.browser.opened == [page])
    }
  }

  /// The first redirect decides; a cancellation while the code is redeemed leaves no account.
  @Test func cancellationDuringTheCodeExchange_leavesNothing() throws {
    for seed in Seeds.asked(100) {
      try scenario(seed: seed) { world in
        let provider = try await world.provider("idp")
        let client = try world.client()
        let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"browser"}"#)
        let id = try #require(begun["signIn"])
        let location = try provider.idp.authorize(url: try #require(begun["authorizationUrl"]), as: "alice")
        let gate = Gate()
        world.network.next("/token", .heldAfter(gate))
        async let page = world.browser.visit(location)
        await gate.reached()
        #expect(await client.call("signIn.cancel", #"{"signIn":"\#(id)"}"#).error == nil)
        gate.open()
        #expect(await page?.status != 200, "seed \(seed)")
        #expect(await client.call("signIn.wait", #"{"signIn":"\#(id)"}"#).reason == "cancelled", "seed \(seed)")
        #expect(await client.call("account.list").result?["accounts"]?.arrayValue?.isEmpty == true, "seed \(seed)")
      }
    }
  }

  @Test(arguments: IDTokenFlaw.all) func unbelievableIDToken_leavesNoAccount(flaw: IDTokenFlaw) throws {
    try scenario { world in
      let provider = try await world.provider("idp")
      provider.idp.enqueueFault("/token", Fault(.changeIDToken(flaw.claims, signature: flaw.signature)))
      await #expect(throws: SceneFailed.self, "\(flaw.name)") {
        try await world.signIn("alice", at: provider, alias: "work")
      }
      let accounts = try await world.client().call("account.list").result?["accounts"]?.arrayValue
      #expect(accounts?.isEmpty == true, "\(flaw.name)")
      #expect(world.browser.listening.isEmpty)
      await world.clock.sleep(for: .seconds(5))
      #expect(provider.idp.activeRefreshTokens().isEmpty, "what was issued is revoked, \(flaw.name)")
      try await world.signIn("alice", at: provider, alias: "work")
    }
  }

  struct IDTokenFlaw: Sendable {
    var name: String
    var claims: [String: PracticeJSON] = [:]
    var signature = Fault.IDTokenSignature.good

    static let all = [
      IDTokenFlaw(name: "another issuer", claims: ["iss": "https://elsewhere.example"]),
      IDTokenFlaw(name: "another audience", claims: ["aud": "somebody-else"]),
      IDTokenFlaw(name: "another nonce", claims: ["nonce": "another"]),
      IDTokenFlaw(name: "no nonce", claims: ["nonce": nil]),
      IDTokenFlaw(name: "no subject", claims: ["sub": nil]),
      IDTokenFlaw(name: "long expired", claims: ["exp": 1_000_000_000]),
      IDTokenFlaw(name: "a broken signature", signature: .broken),
      IDTokenFlaw(name: "no signature", signature: .unsigned),
      IDTokenFlaw(name: "an impostor's key", signature: .impostor),
      IDTokenFlaw(name: "an unknown key", signature: .unknownKey),
      IDTokenFlaw(name: "the hash of another access token", claims: ["at_hash": "77QmUPtjPfzWtF2AnpK9RQ"]),
    ]
  }
}
