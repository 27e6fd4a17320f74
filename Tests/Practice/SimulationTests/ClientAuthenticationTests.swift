import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// Every way in which a client says who it is, at every endpoint that asks.
@Suite struct ConfidentialClientTests {
  struct Way: Sendable, CustomTestStringConvertible {
    let method: ClientAuthenticationMethod
    var client: PracticeClient
    /// Members of `provider.add`.
    let members: String
    var testDescription: String { method.rawValue }
  }

  /// A secret that is not the same encoded (RFC 6749 §2.3.1).
  private static let secret = "s+c/r t%:é"

  static let ways: [Way] = [
    Way(method: .none, client: PracticeClient(id: "way"), members: ""),
    Way(
      method: .basic, client: PracticeClient(id: "way", secret: secret, authenticationMethods: [.basic]),
      members: #","clientSecret":"\#(secret)""#),
    Way(
      method: .post, client: PracticeClient(id: "way", secret: secret, authenticationMethods: [.post]),
      members: #","clientSecret":"\#(secret)""#),
    Way(
      method: .privateKeyJWT,
      client: PracticeClient(
        id: "way", publicKey: [PracticeClient].builtIn.first { $0.id == "keyed" }?.publicKey),
      members: #","clientKey":"\#(PracticeClient.practiceOnlyKey.replacing("\n", with: "\\n"))""#),
  ]

  private func add(_ way: Way, _ world: SimulatedWorld, more: String = "", told: Bool = true) async throws
    -> SimulatedProvider
  {
    var options = Scene.options
    options.clients = [way.client]
    options.pushedAuthorization = .required
    options.wrongSecretBurnsRefreshToken = true
    if told { options.toldAuthenticationMethods = [way.method] }
    let provider = world.makeProvider("idp", options: options)
    let added = try await world.client().call(
      "provider.add", #"{"name":"idp","issuer":"\#(provider.idp.issuer)","clientId":"way"\#(way.members)\#(more)}"#)
    #expect(added.error == nil, "\(added)")
    return provider
  }

  @Test(arguments: ways) func theClientIsKnownWhereverItAsks(way: Way) throws {
    try scenario { world in
      let provider = try await add(way, world)
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

  /// What the provider does not tell, the person can.
  @Test(arguments: ways) func thePersonCanChoose(way: Way) throws {
    try scenario { world in
      let method = #","tokenEndpointAuthMethod":"\#(way.method.rawValue)""#
      let provider = try await add(way, world, more: method, told: false)
      try await world.signIn("alice", at: provider, alias: "work")
      let shown = try await world.client().call("provider.get", #"{"provider":"idp"}"#)
      #expect(shown.json["result", "provider", "tokenEndpointAuthMethod"]?.stringValue == way.method.rawValue)
    }
  }

  /// A wrong way burns the refresh token that comes with it, so there is one and no other.
  @Test(arguments: ways.dropFirst()) func noOtherWayIsTriedAfterARefusal(way: Way) throws {
    try scenario { world in
      let provider = try await add(way, world)
      try await world.signIn("alice", at: provider, alias: "work")
      provider.idp.enqueueFault("/token", .error("invalid_client", status: 401))
      let sent = provider.idp.requestCount(to: "/token")
      let refused = try await world.client().call("token.refresh", #"{"account":"work"}"#)
      #expect(refused.code == 3003, "\(refused)")
      #expect(provider.idp.requestCount(to: "/token") == sent + 1)
      #expect(provider.idp.activeRefreshTokens(user: "alice").count == 1)
      // Nothing is sent until somebody has looked at the configuration.
      _ = try await world.client().call("provider.update", #"{"provider":"idp"}"#)
      let again = try await world.client().call("token.refresh", #"{"account":"work"}"#)
      #expect(again["source"] == "refreshed", "\(again)")
    }
  }

  @Test func theKeyAndTheSecretOutliveTheProcess() throws {
    try scenario { world in
      let way = try #require(Self.ways.last)
      let provider = try await add(way, world)
      try await world.signIn("alice", at: provider, alias: "work")
      try await world.restart()
      let refreshed = try await world.client().call("token.refresh", #"{"account":"work"}"#)
      #expect(refreshed["source"] == "refreshed", "\(refreshed)")
      let shown = try await world.client().call("provider.get", #"{"provider":"idp"}"#)
      #expect(shown.line?.contains("PRIVATE KEY") == false)
    }
  }

  /// The machine's clock is wrong: the assertion is for the provider's time once that is known.
  @Test(arguments: [-7200, 7200] as [Int64]) func anAssertionIsOfTheProvidersTime(offset: Int64) throws {
    try scenario { world in
      let way = try #require(Self.ways.last)
      let provider = try await add(way, world)
      try await world.signIn("alice", at: provider, alias: "work")
      provider.idp.setClockOffset(milliseconds: offset * 1000)
      // The first one is refused, and tells the time by it.
      _ = try await world.client().call("token.refresh", #"{"account":"work"}"#)
      _ = try await world.client().call("token.refresh", #"{"account":"work"}"#)
      let begun = try await world.client().call("signIn.begin", #"{"provider":"idp","flow":"browser"}"#)
      #expect(begun.error == nil, "\(begun)")
    }
  }
}
