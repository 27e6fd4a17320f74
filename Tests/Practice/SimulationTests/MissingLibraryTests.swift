import AgentModel
import AgentSimulation
import Testing

/// A machine without libcurl is told so, and the provider is not said to be out of reach.
@Suite struct MissingLibraryTests {
  static let incident = Incident.notConnected(.noLibrary(.curl))
  static let sentence =
    "The library libcurl.so.4 (7.80 or later) is missing on this machine. On Debian, `apt install libcurl4` brings it."

  @Test func refreshWithoutTheLibrary_namesIt_andTheSessionIsKept() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.network.next("/token", Self.incident)
      let refused = try await scene.token(method: "token.refresh")
      #expect(refused.code == 3001 && refused.reason == "noLibrary", "\(refused)")
      let words = "\(Self.sentence) There is no new token; the session is kept."
      #expect(refused.line?.contains(words) == true, "\(refused)")
    }
  }

  @Test func providerIsNotAddedWithoutTheLibrary_whichIsNamed() throws {
    try scenario { world in
      world.network.next("/.well-known/openid-configuration", Self.incident, times: nil)
      world.network.next("/.well-known/oauth-authorization-server", Self.incident, times: nil)
      let client = try world.client()
      let refused = await client.call(
        "provider.add", #"{"name":"second","issuer":"https://other.test","clientId":"app"}"#)
      #expect(refused.code == 3001 && refused.reason == "noLibrary", "\(refused)")
      #expect(refused.line?.contains("\(Self.sentence) Nothing was changed.") == true, "\(refused)")
    }
  }

  @Test func anyReleaseWillDo_whereNoneIsNamed() {
    #expect(
      SystemLibrary.crypto.missing
        == "The library libcrypto.so.3 is missing on this machine. On Debian, `apt install libssl3` brings it.")
  }
}
