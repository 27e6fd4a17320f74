import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

import AgentOAuth

/// A preset with an issuer needs only a client id, from adding the provider to the first refresh.
@Suite struct PresetTests {
  @Test(arguments: [("google", "accounts.google.com", "none"), ("gitlab", "gitlab.com", "strict")])
  func presetWithAnIssuer_needsOnlyAClientID(preset: String, host: String, reuse: String) throws {
    try SimulatedWorld(seed: 1).run { world in
      // Google takes each loopback address for a desktop program.
      var options = PracticeOptions()
      options.clients[0].redirectURIs.append("http://127.0.0.1/callback-google")
      let provider = world.makeProvider(preset, host: host, options: options)
      let client = try world.client()
      let added = await client.call(
        "provider.add", #"{"name":"\#(preset)","preset":"\#(preset)","clientId":"lanyard-demo"}"#)
      #expect(added.json["result", "provider", "issuer"]?.stringValue == "https://\(host)", "\(added)")
      #expect(added.json["result", "provider", "refresh", "reuse"]?.stringValue == reuse)
      try await world.signIn("alice", at: provider, alias: "work")
      let token = await client.call("token.get", #"{"account":"work"}"#)
      #expect(token["accessToken"].map { provider.idp.isActive(accessToken: $0) } == true, "\(token)")
    }
  }

  /// GitHub has no discovery document, so its preset names the methods; a discovered document overrides the preset.
  @Test func presetAuthMethods_applyUntilDiscovery() {
    var configuration = ProviderConfiguration(
      name: ProviderName("idp")!, issuer: "https://github.com/login/oauth", clientID: "app")
    #expect(Provider(configuration: configuration, clientSecret: nil, metadata: nil).tokenEndpointAuthMethods == [])
    configuration.preset = "github"
    var provider = Provider(configuration: configuration, clientSecret: nil, metadata: nil)
    #expect(provider.tokenEndpointAuthMethods == ["client_secret_post"])
    provider.metadata = ServerMetadata(issuer: configuration.issuer)
    #expect(provider.tokenEndpointAuthMethods == ["client_secret_post"])
    provider.metadata?.tokenEndpointAuthMethods = ["client_secret_basic"]
    #expect(provider.tokenEndpointAuthMethods == ["client_secret_basic"])
  }

  /// The provider's record stores the preset's name, and its failure table applies after a restart.
  @Test func presetFailureTable_appliesAfterARestart() throws {
    try SimulatedWorld(seed: 1).run { world in
      let provider = world.makeProvider("idp")
      let added = try await world.client().call(
        "provider.add",
        #"{"name":"idp","preset":"keycloak","issuer":"\#(provider.idp.issuer)","clientId":"lanyard-demo"}"#)
      #expect(added.error == nil, "\(added)")
      try await world.signIn("alice", at: provider, alias: "work")
      try await world.restart()
      world.network.next(
        "/token",
        .intercepted(
          status: 400, fields: [], body: #"{"error":"invalid_grant","error_description":"User disabled"}"#))
      #expect(try await world.client().call("token.refresh", #"{"account":"work"}"#).code == 2006)
    }
  }
}
