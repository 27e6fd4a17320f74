import AgentModel
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// One account of Alice's, `work`, and requests for its tokens.
struct Scene: Sendable {
  let world: SimulatedWorld
  let provider: SimulatedProvider
  let account: String
  /// The family of refresh tokens that the sign-in began.
  let grant: String
  let firstRefreshToken: String

  var idp: PracticeProvider { provider.idp }

  /// Access tokens live an hour and are renewed in its last five minutes. An unused account is not renewed then, so
  /// that each exchange is one that the scenario asked for. Signatures are cheap and access tokens unsigned, since
  /// scenarios make many thousands of them.
  static let options: PracticeOptions = {
    var options = PracticeOptions()
    options.accessTokenLifetimeSeconds = 3600
    options.accessTokenFormat = .opaque
    options.signingAlgorithm = .es256
    return options
  }()

  static func signedIn(
    _ world: SimulatedWorld, rotation: RefreshTokenRotation = .strict, options: PracticeOptions = options,
    more: String? = nil
  ) async throws -> Scene {
    let provider = try await world.provider("idp", rotation: rotation, options: options, more: more)
    let account = try await world.signIn("alice", at: provider, alias: "work")
    let token = try #require(provider.idp.activeRefreshTokens().first)
    return Scene(
      world: world, provider: provider, account: account, grant: try #require(provider.idp.grant(ofToken: token)),
      firstRefreshToken: token)
  }

  /// Time passes without a request until the access token has expired.
  func expireUnused() async {
    // A token used in the last half hour is renewed, so this takes longer than its lifetime.
    let lifetime = Milliseconds.seconds(Int64(idp.options.accessTokenLifetimeSeconds))
    await world.clock.sleep(for: max(.seconds(40 * 60), lifetime + .seconds(1)))
  }

  /// `token.get` on a new connection, by a caller that waits longer than a request may take.
  func token(_ more: String = "", method: String = "token.get") async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    let waits = ["token.get", "token.refresh"].contains(method) && !more.contains("timeoutSeconds")
    return await client.call(method, #"{"account":"\#(account)"\#(waits ? #","timeoutSeconds":120"# : "")\#(more)}"#)
  }

  /// A request for a token whose exchange the gate holds: by default the provider has answered, and its answer is on
  /// the way. The client is still connected.
  func heldExchange(
    _ method: String = "token.get", by incident: (Gate) -> Incident = Incident.heldAfter
  ) async throws -> (client: SimulatedClient, request: Int, gate: Gate) {
    let gate = Gate()
    world.network.next("/token", incident(gate))
    let client = try world.client()
    let request = client.send(method, #"{"account":"\#(account)"}"#)
    await gate.reached()
    return (client, request, gate)
  }

  func account() async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call("account.get", #"{"account":"\#(account)"}"#)
  }

  func tokenOf(_ account: String) async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call("token.get", #"{"account":"\#(account)"}"#)
  }

  func session() async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call("session.get", #"{"account":"\#(account)"}"#)
  }

  func expiry() async throws -> BootInstant {
    let seconds = try #require(
      try await token(#","minimumLifetimeSeconds":0"#).result?["expiresInSeconds"]?.integerValue)
    return world.clock.boot() + .seconds(seconds + 1)
  }

  /// The number of stored exchanges of this grant.
  func generation() async throws -> Int64 {
    try #require(try await session().result?["generation"]?.integerValue)
  }

  /// Parameters of `token.reject`.
  func rejecting(_ fingerprint: String, _ more: String = "") -> String {
    #"{"account":"\#(account)","fingerprint":"\#(fingerprint)"\#(more)}"#
  }

  /// After the incident, without a sign-in: the account works, in this process or in the next, and the family of its
  /// refresh tokens is live, so no spent token was ever sent.
  func livesOn(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    if world.seed % 2 == 0 { try await world.restart() } else { await expireUnused() }
    let answer = try await token()
    #expect(works(answer), "\(answer)", sourceLocation: sourceLocation)
    #expect(try await session()["state"] == "active", sourceLocation: sourceLocation)
    #expect(idp.endOfGrant(grant) == nil, sourceLocation: sourceLocation)
  }

  /// Refresh requests that left this machine.
  var refreshes: [SimulatedNetwork.Sent] { world.network.sent.filter { $0.refreshToken != nil } }

  /// Whether the access token of an answer is valid at the provider.
  func works(_ answer: SimulatedAnswer) -> Bool {
    answer["accessToken"].map { idp.isActive(accessToken: $0) } ?? false
  }
}

extension SimulatedAnswer {
  /// `scopes` of the result.
  var scopes: Set<String> { Set(json["result", "scopes"]?.arrayValue?.compactMap(\.stringValue) ?? []) }
}
