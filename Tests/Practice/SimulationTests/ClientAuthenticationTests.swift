import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// Each client authentication method, at each endpoint that needs one.
@Suite struct ConfidentialClientTests {
  struct Setup: Sendable, CustomTestStringConvertible {
    let method: ClientAuthenticationMethod
    var client: PracticeClient
    /// Members of `provider.add`.
    let members: String
    var testDescription: String { method.rawValue }
  }

  /// A secret whose form encoding differs from itself (RFC 6749 §2.3.1).
  private static let secret = "s+c/r t%:é"

  static let setups: [Setup] = [
    Setup(method: .none, client: PracticeClient(id: "way"), members: ""),
    Setup(
      method: .basic, client: PracticeClient(id: "way", secret: secret, authenticationMethods: [.basic]),
      members: #","clientSecret":"\#(secret)""#),
    Setup(
      method: .post, client: PracticeClient(id: "way", secret: secret, authenticationMethods: [.post]),
      members: #","clientSecret":"\#(secret)""#),
    Setup(
      method: .privateKeyJWT,
      client: PracticeClient(
        id: "way", publicKey: [PracticeClient].builtIn.first { $0.id == "keyed" }?.publicKey),
      members: #","clientKey":"\#(PracticeClient.practiceOnlyKey.replacing("\n", with: "\\n"))""#),
  ]

  private func add(_ setup: Setup, _ world: SimulatedWorld, more: String = "", told: Bool = true) async throws
    -> SimulatedProvider
  {
    var options = Scene.options
    options.clients = [setup.client]
    options.pushedAuthorization = .required
    options.wrongSecretBurnsRefreshToken = true
    if told { options.toldAuthenticationMethods = [setup.method] }
    let provider = world.makeProvider("idp", options: options)
    let added = try await world.client().call(
      "provider.add", #"{"name":"idp","issuer":"\#(provider.idp.issuer)","clientId":"way"\#(setup.members)\#(more)}"#)
    #expect(added.error == nil, "\(added)")
    return provider
  }

  @Test(arguments: setups) func clientAuthentication_worksAtEveryEndpoint(setup: Setup) throws {
    try scenario { world in
      let provider = try await add(setup, world)
      let account = try await world.signIn("alice", at: provider, alias: "work")  // /par, /token
      let client = try world.client()
      let refreshed = await client.call("token.refresh", #"{"account":"work"}"#)
      #expect(refreshed["source"] == "refreshed", "\(refreshed)")
      let device = await client.call("signIn.begin", #"{"provider":"idp","flow":"device","alias":"other"}"#)
      try provider.idp.approveDevice(userCode: try #require(device["userCode"]), as: "bob")
      let ended = await client.call("signIn.wait", #"{"signIn":"\#(device["signIn"] ?? "")"}"#)
      #expect(ended["status"] == "completed", "\(ended)")
      let out = await client.call("account.signOut", #"{"account":"\#(account)","mode":"hard"}"#)
      #expect(out["revocation"] == "confirmed", "\(out)")
      #expect(provider.idp.activeRefreshTokens(user: "alice").isEmpty)
      #expect(provider.idp.requests().allSatisfy { ($0.status ?? 0) < 400 || $0.error == "authorization_pending" })
    }
  }

  /// A configured method replaces metadata that the provider does not publish.
  @Test(arguments: setups) func configuredAuthMethod_isUsedWithoutMetadata(setup: Setup) throws {
    try scenario { world in
      let method = #","tokenEndpointAuthMethod":"\#(setup.method.rawValue)""#
      let provider = try await add(setup, world, more: method, told: false)
      try await world.signIn("alice", at: provider, alias: "work")
      let shown = try await world.client().call("provider.get", #"{"provider":"idp"}"#)
      #expect(shown.json["result", "provider", "tokenEndpointAuthMethod"]?.stringValue == setup.method.rawValue)
    }
  }

  /// A wrong method burns the refresh token sent with it, so the agent tries one method only.
  @Test(arguments: setups.dropFirst()) func refusedClient_isNotRetriedWithAnotherMethod(setup: Setup) throws {
    try scenario { world in
      let provider = try await add(setup, world)
      try await world.signIn("alice", at: provider, alias: "work")
      provider.idp.enqueueFault("/token", .error("invalid_client", status: 401))
      let sent = provider.idp.requestCount(to: "/token")
      let refused = try await world.client().call("token.refresh", #"{"account":"work"}"#)
      #expect(refused.code == 3003, "\(refused)")
      #expect(provider.idp.requestCount(to: "/token") == sent + 1)
      #expect(provider.idp.activeRefreshTokens(user: "alice").count == 1)
      // No exchange is sent until the configuration is updated.
      _ = try await world.client().call("provider.update", #"{"provider":"idp"}"#)
      let again = try await world.client().call("token.refresh", #"{"account":"work"}"#)
      #expect(again["source"] == "refreshed", "\(again)")
    }
  }

  @Test func clientKeyAndSecret_surviveARestart() throws {
    try scenario { world in
      let setup = try #require(Self.setups.last)
      let provider = try await add(setup, world)
      try await world.signIn("alice", at: provider, alias: "work")
      try await world.restart()
      let refreshed = try await world.client().call("token.refresh", #"{"account":"work"}"#)
      #expect(refreshed["source"] == "refreshed", "\(refreshed)")
      let shown = try await world.client().call("provider.get", #"{"provider":"idp"}"#)
      #expect(shown.line?.contains("PRIVATE KEY") == false)
    }
  }

  /// With a wrong wall clock, the assertion uses the provider's time as soon as that is known.
  @Test(arguments: [-7200, 7200] as [Int64]) func clientAssertion_usesTheProvidersTime(offset: Int64) throws {
    try scenario { world in
      let setup = try #require(Self.setups.last)
      let provider = try await add(setup, world)
      try await world.signIn("alice", at: provider, alias: "work")
      provider.idp.setClockOffset(milliseconds: offset * 1000)
      // The first assertion is refused, and its response carries the time.
      _ = try await world.client().call("token.refresh", #"{"account":"work"}"#)
      _ = try await world.client().call("token.refresh", #"{"account":"work"}"#)
      let begun = try await world.client().call("signIn.begin", #"{"provider":"idp","flow":"browser"}"#)
      #expect(begun.error == nil, "\(begun)")
    }
  }
}
