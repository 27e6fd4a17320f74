import AgentSimulation
import Testing

/// The tokens beside the one of `request.authorize`, which a gateway passes on no answer with.
@Suite(.tellsItsSeed) struct OtherTokensTests {
  @Test func otherTokens_areThoseOfTheAccountsThatTheGatewayServes() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: #","allowedOrigins":["https://idp.test"]"#)
      let home = try await world.signIn("bob@globex", at: scene.provider, alias: "home")
      let client = try world.client()
      let shown = await client.call("account.get", #"{"account":"work"}"#)
      let work = try #require(shown["id"] ?? shown["account"])
      let token = try #require(await client.call("token.get", #"{"account":"home"}"#)["accessToken"])
      func others(_ accounts: String) async -> [Substring] {
        let answer = await client.call(
          "request.authorize",
          #"{"account":"work","method":"GET","url":"https://idp.test/protected"\#(accounts)}"#)
        #expect(answer.error == nil, "\(answer)")
        return answer["otherTokens"]?.split(separator: " ") ?? []
      }
      #expect(await others("") == [token[...]])
      #expect(await others(#","accounts":["\#(work)","\#(home)"]"#) == [token[...]])
      #expect(await others(#","accounts":["\#(work)"]"#) == [])
      client.disconnect()
    }
  }
}
