internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol

enum ProviderDiscoverHandler: MethodHandler {
  typealias Method = ProviderDiscover

  static func handle(
    _ params: ProviderDiscover.Params, _ call: Call
  ) async throws(AgentFailure) -> ProviderDiscover.Result {
    // A locked agent adds no provider, so it looks for none.
    _ = try await call.agent.vault.read { vault throws(AgentFailure) in vault.directory.providers.isEmpty }
    let discovery = try IssuerDiscovery(params.url, caFile: params.caFile, proxy: params.proxy, of: call.agent)
    let found = try await call.agent.introductions.run { () async throws(AgentFailure) in try await discovery.run() }
    return ProviderDiscover.Result(
      issuer: found.issuer, isElsewhere: found.isElsewhere, preset: found.preset?.name,
      endpoints: WireEndpoints(found.endpoints),
      tokenEndpointAuthMethods: found.metadata?.tokenEndpointAuthMethods
        ?? found.preset?.tokenEndpointAuthMethods ?? [],
      pkce: found.metadata?.codeChallengeMethods.contains("S256") == true,
      dpop: found.metadata.map { !$0.dpopAlgorithms.isEmpty } ?? false)
  }
}
