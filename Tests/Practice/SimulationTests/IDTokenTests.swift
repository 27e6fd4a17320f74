import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// ID tokens that programs get, over changes of the provider's keys and of what a refresh brings.
@Suite(.tellsItsSeed) struct IDTokenTests {
  private func idToken(_ scene: Scene, _ world: SimulatedWorld) async throws -> SimulatedAnswer {
    try await world.client().call("identity.get", #"{"account":"\#(scene.account)"}"#)
  }

  /// An account with an ID token that lives two hours.
  private func longLived(_ world: SimulatedWorld) async throws -> (Scene, idToken: String) {
    let scene = try await Scene.signedIn(world)
    scene.idp.configure { $0.idTokenLifetimeSeconds = 7200 }
    _ = try await scene.token(method: "token.refresh")
    return (scene, try #require(try await idToken(scene, world)["idToken"]))
  }

  @Test func withdrawnKey_endsItsIDToken() throws {
    try scenario { world in
      let (scene, first) = try await longLived(world)
      scene.idp.rotateKeys(keepOld: false)
      #expect(try await idToken(scene, world)["idToken"] == first, "nothing shows it yet")
      await world.clock.sleep(for: .seconds(901))
      let second = try #require(try await idToken(scene, world)["idToken"])
      #expect(second != first)
      #expect(try await idToken(scene, world)["idToken"] == second)
    }
  }

  @Test func keysThatAnotherSignInRead_endAWithdrawnKeysIDToken() throws {
    try scenario { world in
      let (scene, first) = try await longLived(world)
      scene.idp.rotateKeys(keepOld: false)
      await world.clock.sleep(for: .seconds(5))
      try await world.signIn("bob", at: scene.provider, alias: "home")
      #expect(try await idToken(scene, world)["idToken"] != first)
    }
  }

  @Test func keysThatCanNotBeRead_leaveAVerifiedIDTokenAsItIs() throws {
    try scenario { world in
      let (scene, first) = try await longLived(world)
      await world.clock.sleep(for: .seconds(901))
      scene.idp.enqueueFault("/jwks", .status(503))
      #expect(try await idToken(scene, world)["idToken"] == first)
      #expect(scene.works(try await scene.token()))
    }
  }

  @Test func idTokenWithManyGroups_isGivenOut() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let groups = PracticeJSON.strings((0..<1_500).map { "cn=group-\($0),ou=teams,dc=acme,dc=example" })
      scene.idp.enqueueFault("/token", Fault(.changeIDToken(["groups": groups])))
      _ = try await scene.token(method: "token.refresh")
      let token = try #require(try await idToken(scene, world)["idToken"])
      #expect(token.utf8.count > 65_536)
    }
  }

  @Test func userInfoThatNamesNoPerson_replacesNoRoles() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: #","authorization":{"rolesClaim":"roles"}"#)
      let client = try world.client()
      let before = await client.call("snapshot.get", #"{"account":"\#(scene.account)"}"#)
      scene.idp.enqueueFault("/token", Fault(.changeIDToken(["roles": .null])))
      scene.idp.enqueueFault("/userinfo", Fault(.changeAnswer(["sub": .null, "roles": .strings(["administrator"])])))
      _ = await client.call("snapshot.refresh", #"{"account":"\#(scene.account)"}"#)
      let after = await client.call("snapshot.get", #"{"account":"\#(scene.account)"}"#)
      #expect(!"\(after)".contains("administrator"), "\(before) \(after)")
    }
  }
}
