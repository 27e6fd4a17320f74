import AgentSimulation
import PracticeProvider
import Testing

/// A slash too many at the end of a typed issuer.
@Suite(.tellsItsSeed) struct MistypedIssuerTests {
  @Test func presetOfAMistypedIssuer_givesTheSameProvider() throws {
    try scenario { world in
      _ = world.makeProvider("gitlab", host: "gitlab.com", options: Scene.options)
      let client = try world.client()
      var endpoints: [String] = []
      for (name, issuer) in [("one", "https://gitlab.com"), ("two", "https://gitlab.com/")] {
        let added = await client.call(
          "provider.add", #"{"name":"\#(name)","preset":"gitlab","issuer":"\#(issuer)","clientId":"lanyard-demo"}"#)
        #expect(added.json["result", "provider", "issuer"]?.stringValue == "https://gitlab.com", "\(added)")
        endpoints.append("\(added.json["result", "provider", "endpoints"] as Any)")
      }
      #expect(endpoints[0] == endpoints[1])
      #expect(endpoints[1].contains("device"))
      client.disconnect()
    }
  }
}
