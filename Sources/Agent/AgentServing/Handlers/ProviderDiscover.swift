internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum ProviderDiscoverHandler: MethodHandler {
  typealias Method = ProviderDiscover

  static func handle(
    _ params: ProviderDiscover.Params, _ call: Call
  ) async throws(AgentFailure) -> ProviderDiscover.Result {
    // A locked agent adds no provider, so it looks for none.
    _ = try await call.agent.vault.read { vault throws(AgentFailure) in vault.providerTable.all.isEmpty }
    let discovery = try IssuerDiscovery(
      params.url, exactly: params.exact == true, caFile: params.caFile, proxy: params.proxy, of: call.agent.setup)
    try await call.requireCertificates(at: params.caFile)
    let found = try await call.agent.searches.run { () async throws(AgentFailure) in try await discovery.run() }
    // As much as the schema allows: what a server tells has no end of its own.
    guard found.issuer.utf8.count <= longestIssuer else { throw .provider(.document(.malformed)) }
    let methods = found.metadata?.tokenEndpointAuthMethods ?? found.preset?.tokenEndpointAuthMethods ?? []
    return ProviderDiscover.Result(
      issuer: found.issuer, isElsewhere: found.isElsewhere, preset: found.preset?.name,
      endpoints: WireEndpoints(found.endpoints),
      tokenEndpointAuthMethods: Array(methods.filter { $0.utf8.count <= longestMethod }.prefix(mostMethods)),
      pkce: found.metadata?.codeChallengeMethods.contains("S256") == true,
      dpop: found.metadata.map { !$0.dpopAlgorithms.isEmpty } ?? false,
      scopesSupported: found.metadata?.scopesSupported,
      clientIdMetadataDocuments: found.metadata?.clientIDMetadataDocuments == true)
  }

  private static let longestIssuer = 2048
  private static let mostMethods = 64
  private static let longestMethod = 256
}
