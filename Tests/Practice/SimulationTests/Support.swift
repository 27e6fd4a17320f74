import AgentModel
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// One account, `work`, of Alice's, and a client that asks for its tokens.
struct Scene: Sendable {
  let world: SimulatedWorld
  let provider: SimulatedProvider
  let account: String
  /// The family of refresh tokens that the sign-in began.
  let grant: String
  let firstRefreshToken: String

  var idp: PracticeProvider { provider.idp }

  /// Access tokens live an hour and are refreshed in its last five minutes: an account that nobody uses is left alone
  /// by then, so that an exchange is only ever what a scenario asked for. Signatures that cost little and access tokens
  /// that have none, since there are many thousands of them.
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

  /// Time passes, nobody asks for anything, and the access token has expired at the end of it.
  func expireUnused() async {
    // A token that was used in the last half hour is refreshed by itself, so it takes longer than its lifetime.
    let lifetime = Milliseconds.seconds(Int64(idp.options.accessTokenLifetimeSeconds))
    await world.clock.sleep(for: max(.seconds(40 * 60), lifetime + .seconds(1)))
  }

  /// `token.get` on a connection of its own.
  func token(_ more: String = "", method: String = "token.get") async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call(method, #"{"account":"\#(account)"\#(more)}"#)
  }

  func account() async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call("account.get", #"{"account":"\#(account)"}"#)
  }

  /// `token.get` for another account.
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

  /// When the cached token expires.
  func expiry() async throws -> BootInstant {
    let seconds = try #require(
      try await token(#","minimumLifetimeSeconds":0"#).result?["expiresInSeconds"]?.integerValue)
    return world.clock.boot() + .seconds(seconds + 1)
  }

  /// How many exchanges of this grant were kept.
  func generation() async throws -> Int64 {
    try #require(try await session().result?["generation"]?.integerValue)
  }

  /// Parameters of `token.reject`.
  func rejecting(_ fingerprint: String, _ more: String = "") -> String {
    #"{"account":"\#(account)","fingerprint":"\#(fingerprint)"\#(more)}"#
  }

  /// The trouble is over and nobody signed in: the account works, in this process or in the next, and the family
  /// of its refresh tokens lives, so none of them was ever sent that had been spent.
  func livesOn(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    if world.seed % 2 == 0 { try await world.restart() } else { await expireUnused() }
    let answer = try await token()
    #expect(works(answer), "\(answer)", sourceLocation: sourceLocation)
    #expect(try await session()["state"] == "active", sourceLocation: sourceLocation)
    #expect(idp.endOfGrant(grant) == nil, sourceLocation: sourceLocation)
  }

  /// Refreshes that left this machine.
  var refreshes: [SimulatedNetwork.Sent] { world.network.sent.filter { $0.refreshToken != nil } }

  /// The access token of an answer works at the provider.
  func works(_ answer: SimulatedAnswer) -> Bool {
    answer["accessToken"].map { idp.isActive(accessToken: $0) } ?? false
  }
}

extension SimulatedAnswer {
  /// `scopes` of the result.
  var scopes: Set<String> { Set(json["result", "scopes"]?.arrayValue?.compactMap(\.stringValue) ?? []) }
}
