public import PracticeProvider
internal import AgentModel

/// A provider of the world, and the agent's name for it.
public struct SimulatedProvider: Sendable {
  public let name: String
  public let idp: PracticeProvider
}

/// A step that every scenario needs has failed.
public struct SceneFailed: Error, CustomStringConvertible {
  public let description: String
}

extension SimulatedWorld {
  /// A new client of the running agent. `isObserver`: its answers are no steps of the scenario.
  public func client(isObserver: Bool = false) throws -> SimulatedClient {
    let process = process
    let client = SimulatedClient(host: process.server, life: process.life) { [weak self] in
      if let self, !isObserver { await afterStep(self) }
    }
    guard process.life.isAlive, let client else {
      throw SceneFailed(description: "seed \(seed): the agent takes no client")
    }
    if let ownerGrant {
      client.send("agent.hello", #"{"client":{"name":"scene","version":"1"},"grant":"\#(ownerGrant)"}"#)
    }
    return client
  }

  /// Adds a provider that is reachable, but unknown to the agent.
  public func makeProvider(
    _ name: String, host: String? = nil, options: PracticeOptions = PracticeOptions()
  ) -> SimulatedProvider {
    let clock = clock
    let entropy = SeededEntropy(seed: seed ^ name.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) })
    let idp = PracticeProvider(
      issuer: "https://\(host ?? "\(name).test")", options: options, now: { clock.trueTime.milliseconds },
      random: { entropy.bytes($0) })
    network.attach(idp)
    return SimulatedProvider(name: name, idp: idp)
  }

  /// Adds a provider, also to the agent. `rotation` is the provider's behaviour and the agent's configuration for it,
  /// unless `more` (members of `provider.add`, with a leading comma) says otherwise.
  public func provider(
    _ name: String, rotation: RefreshTokenRotation = .strict, options: PracticeOptions = PracticeOptions(),
    more: String? = nil
  ) async throws -> SimulatedProvider {
    var options = options
    options.rotation = rotation
    let provider = makeProvider(name, options: options)
    let rule =
      switch rotation {
      case .none, .renewed: #"{"reuse":"none"}"#
      // `replayLast`, the default, has scenarios of its own.
      case .grace(let seconds):
        #"{"reuse":"grace","graceSeconds":\#(seconds),"onUnknownOutcome":"reauthenticate"}"#
      case .strict: #"{"reuse":"strict","onUnknownOutcome":"reauthenticate"}"#
      }
    var members = more ?? #","refresh":\#(rule)"#
    // A refresh of `PracticeProvider` with fewer scopes leaves the grant as it is (RFC 6749 §6).
    if !members.contains("narrowing") { members += #","narrowing":"keeps""# }
    let answer = try await client().call(
      "provider.add",
      #"{"name":"\#(name)","issuer":"\#(provider.idp.issuer)","clientId":"lanyard-demo"\#(members)}"#)
    guard answer.error == nil, !answer.isLost else {
      throw SceneFailed(description: "seed \(seed): provider.add: \(answer.line ?? "lost")")
    }
    return provider
  }

  /// Signs a user in through the browser; returns the account's id.
  @discardableResult
  public func signIn(
    _ user: String, at provider: SimulatedProvider, alias: String? = nil, again account: String? = nil
  ) async throws -> String {
    let client = try client()
    defer { client.disconnect() }
    var members = #""provider":"\#(provider.name)","flow":"browser""#
    if let alias { members += #","alias":"\#(alias)""# }
    if let account { members += #","account":"\#(account)""# }
    let begun = await client.call("signIn.begin", "{\(members)}")
    guard let id = begun["signIn"], let url = begun["authorizationUrl"] else {
      throw SceneFailed(description: "seed \(seed): signIn.begin: \(begun.line ?? "lost")")
    }
    _ = await browser.visit(try provider.idp.authorize(url: url, as: user))
    let ended = await client.call("signIn.wait", #"{"signIn":"\#(id)"}"#)
    guard let found = ended["account"] else {
      throw SceneFailed(description: "seed \(seed): signIn.wait: \(ended.line ?? "lost")")
    }
    return found
  }
}
