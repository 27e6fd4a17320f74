import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// The same identity returns to its account after any kind of sign-out; another identity never does.
@Suite struct SignInAgainTests {
  @Test(arguments: ["", "soft", "hard", "offline"], [true, false])
  func sameIdentity_returnsToItsAccount(mode: String, isNamed: Bool) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let client = try world.client()
      if !mode.isEmpty {
        let out = await client.call("account.signOut", #"{"account":"work","mode":"\#(mode)"}"#)
        #expect(out.error == nil, "\(out)")
      }
      let again = try await world.signIn("alice", at: scene.provider, again: isNamed ? scene.account : nil)
      #expect(again == scene.account)
      #expect(await client.call("account.list").result?["accounts"]?.arrayValue?.count == 1)
      #expect(scene.works(try await scene.token()))
    }
  }

  /// The account was signed out, and another person signs in on the page: the account stays signed out.
  @Test(arguments: ["soft", "hard"]) func otherIdentity_doesNotTakeASignedOutAccount(mode: String) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let client = try world.client()
      _ = await client.call("account.signOut", #"{"account":"work","mode":"\#(mode)"}"#)
      let before = await client.call("account.get", #"{"account":"\#(scene.account)"}"#)["state"]
      await #expect(throws: SceneFailed.self) {
        try await world.signIn("bob", at: scene.provider, again: scene.account)
      }
      #expect(await client.call("account.get", #"{"account":"\#(scene.account)"}"#)["state"] == before)
      #expect(await client.call("account.list").result?["accounts"]?.arrayValue?.count == 1)
      #expect(try await scene.token().code == 2003)
    }
  }

  /// The named account was forgotten while the person signed in: no other person is to blame, and nothing is kept.
  @Test func accountForgottenDuringTheSignIn_isNotFound() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let client = try world.client()
      let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"browser","account":"work"}"#)
      let id = try #require(begun["signIn"], "\(begun)")
      let location = try scene.provider.idp.authorize(url: try #require(begun["authorizationUrl"]), as: "alice")
      #expect(await client.call("account.signOut", #"{"account":"work","mode":"soft"}"#).error == nil)
      #expect(await client.call("account.forget", #"{"account":"\#(scene.account)"}"#).error == nil)
      _ = await world.browser.visit(location)
      #expect(await client.call("signIn.wait", #"{"signIn":"\#(id)"}"#).code == 2001)
      #expect(await client.call("account.list").result?["accounts"]?.arrayValue?.isEmpty == true)
      await world.clock.sleep(for: .seconds(30))
      #expect(scene.provider.idp.activeRefreshTokens().isEmpty)
    }
  }

  /// With a PIN, kept data opens only with the PIN, and the account is the same one.
  @Test func pin_survivesASoftSignOut() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let client = try world.client()
      let enrolled = await client.call("stepUp.enroll", #"{"account":"work","pin":"2468"}"#)
      #expect(enrolled.error == nil, "\(enrolled)")
      let put = await client.call("secret.put", #"{"account":"work","name":"draft","value":"kept"}"#)
      #expect(put.error == nil, "\(put)")
      _ = await client.call("account.signOut", #"{"account":"work","mode":"soft"}"#)
      #expect(try await world.signIn("alice", at: scene.provider, again: scene.account) == scene.account)
      let secret = #"{"account":"\#(scene.account)","name":"draft"}"#
      #expect(await client.call("secret.get", secret).code == 2008)
      let verified = await client.call("stepUp.verify", #"{"account":"\#(scene.account)","pin":"2468"}"#)
      #expect(verified.error == nil, "\(verified)")
      #expect(await client.call("secret.get", secret)["value"] == "kept")
    }
  }

  @Test func tenantsAndPeople_haveSeparateAccounts() throws {
    try scenario { world in
      let provider = try await world.provider("idp", more: #","tenant":{"claim":"tid"}"#)
      let people = ["alice@acme", "alice@globex", "carol@acme", "bob@globex"]
      var accounts: Set<String> = []
      // One subject at two tenants is two identities.
      for person in people { accounts.insert(try await world.signIn(person, at: provider)) }
      provider.idp.enqueueFault("/token", Fault(.changeIDToken(["tid": "initech"])))
      accounts.insert(try await world.signIn("alice@acme", at: provider))
      #expect(accounts.count == people.count + 1)
      for person in people { accounts.insert(try await world.signIn(person, at: provider)) }
      #expect(accounts.count == people.count + 1)
    }
  }
}
