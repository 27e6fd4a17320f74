import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// The agent registers itself as a client (RFC 7591) in a way that the provider takes.
@Suite(.tellsItsSeed) struct RegisteredClientTests {
  private static func added(
    _ world: SimulatedWorld, _ change: (inout PracticeOptions) -> Void
  ) async throws -> (SimulatedProvider, SimulatedAnswer) {
    var options = Scene.options
    options.registration = .open
    change(&options)
    let provider = world.makeProvider("idp", options: options)
    let answer = try await world.client().call(
      "provider.add", #"{"name":"idp","issuer":"\#(provider.idp.issuer)"}"#)
    return (provider, answer)
  }

  /// RFC 8252 §7.3 has servers ignore the port of a loopback redirect; not all of them do.
  @Test func serverThatComparesPorts_getsThePortThatWasRegistered() throws {
    try scenario { world in
      let (provider, answer) = try await Self.added(world) { $0.comparesRedirectPorts = true }
      #expect(answer.error == nil, "\(answer)")
      let port = try #require(answer.json["result", "provider", "redirect", "port"]?.integerValue)
      #expect((20_000...32_000).contains(port))
      let account = try await world.signIn("alice", at: provider)
      try await world.restart()
      #expect(try await world.signIn("alice", at: provider) == account, "the port is kept")
    }
  }

  @Test func portOfThePerson_isRegistered() throws {
    try scenario { world in
      var options = Scene.options
      options.registration = .open
      options.comparesRedirectPorts = true
      let provider = world.makeProvider("idp", options: options)
      let answer = try await world.client().call(
        "provider.add", #"{"name":"idp","issuer":"\#(provider.idp.issuer)","redirect":{"port":4711}}"#)
      #expect(answer.json["result", "provider", "redirect", "port"]?.integerValue == 4711, "\(answer)")
      try await world.signIn("alice", at: provider)
    }
  }

  @Test(arguments: [ClientAuthenticationMethod.basic, .post])
  func serverWithoutPublicClients_isAskedForAMethodThatItOffers(method: ClientAuthenticationMethod) throws {
    try scenario { world in
      let (provider, answer) = try await Self.added(world) { $0.toldAuthenticationMethods = [method] }
      #expect(answer.error == nil, "\(answer)")
      #expect(answer.json["result", "provider", "tokenEndpointAuthMethod"]?.stringValue == method.rawValue)
      #expect(world.network.count("/register") == 1)
      try await Self.works(world, provider)
    }
  }

  /// Without a list, `client_secret_basic` is what a server takes (RFC 8414 §2); many take public clients all the same.
  @Test func serverThatListsNoMethods_isAskedForASecretIfItRefusesPublicClients() throws {
    try scenario { world in
      var options = Scene.options
      options.registration = .open
      options.toldAuthenticationMethods = [.basic]
      let provider = world.makeProvider("idp", options: options)
      for document in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"] {
        provider.idp.enqueueFault(
          document, Fault(.changeAnswer(["token_endpoint_auth_methods_supported": .null]), count: nil))
      }
      let answer = try await world.client().call(
        "provider.add", #"{"name":"idp","issuer":"\#(provider.idp.issuer)"}"#)
      #expect(answer.json["result", "provider", "clientSecretSet"]?.boolValue == true, "\(answer)")
      #expect(world.network.count("/register") == 2)
      try await Self.works(world, provider)
    }
  }

  private static func works(_ world: SimulatedWorld, _ provider: SimulatedProvider) async throws {
    let account = try await world.signIn("alice", at: provider)
    let client = try world.client()
    #expect(await client.call("token.refresh", #"{"account":"\#(account)"}"#).error == nil)
    let out = await client.call("account.signOut", #"{"account":"\#(account)","mode":"soft"}"#)
    #expect(out["revocation"] == "confirmed", "\(out)")
  }
}
