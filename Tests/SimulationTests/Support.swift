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

  /// Access tokens live 300 s, and are refreshed from 255 s on.
  static let expiry = Milliseconds.seconds(301)

  static func signedIn(
    _ world: SimulatedWorld, rotation: RefreshTokenRotation = .strict, options: PracticeOptions = PracticeOptions(),
    more: String? = nil
  ) async throws -> Scene {
    let provider = try await world.provider("idp", rotation: rotation, options: options, more: more)
    let account = try await world.signIn("alice", at: provider, alias: "work")
    let token = try #require(provider.idp.activeRefreshTokens().first)
    return Scene(
      world: world, provider: provider, account: account, grant: try #require(provider.idp.grant(ofToken: token)),
      firstRefreshToken: token)
  }

  func expire() async { await world.clock.sleep(for: Self.expiry) }

  /// `token.get` on a connection of its own.
  func token(_ more: String = "", method: String = "token.get") async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call(method, #"{"account":"\#(account)"\#(more)}"#)
  }

  func session() async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call("session.get", #"{"account":"\#(account)"}"#)
  }

  /// Refreshes that left this machine.
  var refreshes: [SimulatedNetwork.Sent] { world.network.sent.filter { $0.refreshToken != nil } }

  /// The access token of an answer works at the provider.
  func works(_ answer: SimulatedAnswer) -> Bool {
    answer["accessToken"].map { idp.isActive(accessToken: $0) } ?? false
  }
}

/// Runs a scenario in a world of its own, and says the seed if it fails.
func scenario(
  seed: UInt64 = 1, _ body: @escaping @Sendable (SimulatedWorld) async throws -> Void
) throws {
  let world = SimulatedWorld(seed: seed)
  try world.run(body)
  #expect(world.executor.strayEnqueues == 0, "seed \(seed): a task left the executor")
}
