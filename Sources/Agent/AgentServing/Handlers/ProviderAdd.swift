internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

/// Adds a provider after reading its documents, so that a wrong issuer is reported now, and not at the first sign-in.
enum ProviderAddHandler: MethodHandler {
  typealias Method = ProviderAdd

  static func handle(_ params: ProviderAdd.Params, _ call: Call) async throws(AgentFailure) -> ProviderAdd.Result {
    await call.agent.lookAgain()
    return try await call.agent.introductions.run { () async throws(AgentFailure) in try await add(params, call) }
  }

  private static func add(_ params: ProviderAdd.Params, _ call: Call) async throws(AgentFailure) -> ProviderAdd.Result {
    if params.kind != .client, params.clientId == nil, params.clientSecret != nil || params.clientKey != nil {
      throw .invalidParameter("/clientId", expected: "the id of the client whose secret or key is given")
    }
    try await call.agent.vault.read { vault throws(AgentFailure) in try vault.providers.requireFree(params.name) }
    if let policy = params.policy { try await call.requirePolicy(named: policy) }
    var provider = try Provider(describedBy: params, signer: call.agent.environment.keys)
    try await call.requireCertificates(at: params.caFile)
    if provider.needsDiscovery {
      do throws(AgentFailure) {
        try await call.agent.setup.discover(&provider, isTyped: true)
        // A corrected issuer may be the preset's.
        if let preset = provider.preset {
          provider.configuration.complete(from: preset, tenantClaim: params.authorization?.tenantClaim)
        }
      } catch {
        // Report a missing client id first, where the agent may have to be given one.
        guard params.clientId == nil, provider.preset?.registersClients != true,
          case .provider(.document(let failure)) = error, failure.leavesRegistrationUnknown
        else { throw error }
        throw .provider(.clientIDMissing(.document(failure)))
      }
    }
    if params.clientId == nil, provider.configuration.kind == .openid {
      // Endpoints of the caller's own could be elsewhere.
      let mayTakeClient = params.identity == .resource && params.endpoints == nil
      try await call.agent.setup.identifyClient(
        &provider, mayTakeClient: mayTakeClient, keepsRedirectPath: params.redirect?.path != nil)
    }
    do throws(AgentFailure) {
      _ = try await call.agent.vault.commit { [provider] vault throws(AgentFailure) in
        try vault.providers.add(provider)
      }
    } catch {
      call.agent.setup.dropRegistration(of: provider)
      throw error
    }
    return ProviderAdd.Result(provider: WireProvider(provider))
  }
}

extension Provider {
  /// The provider as its members describe it, before its documents are read.
  init(describedBy params: ProviderAdd.Params, signer: any ClientKeySigner) throws(AgentFailure) {
    let asked = params.kind.map { AccountKind($0) }
    let preset = try params.preset.map { name throws(AgentFailure) in try ProviderPreset.asked(name, of: asked) }
    let kind = asked ?? preset?.kind ?? .openid
    if kind != .client, params.machine != nil {
      throw .invalidParameter("/machine", expected: "nothing for a provider of the kind \(kind.rawValue)")
    }
    switch kind {
    case .secret:
      try self.init(ofSecrets: params, preset)
      return
    case .client:
      try self.init(ofMachine: params, signer: signer)
      return
    case .openid: try params.requireMembers(of: .openid)
    }
    var configuration = ProviderConfiguration(
      name: params.name, issuer: try ProviderPreset.issuer(params.issuer, of: preset),
      clientID: params.clientId ?? "")
    preset?.fill(&configuration)
    // A server that is no OpenID provider knows none of the usual scopes.
    if params.identity == .resource { configuration.scopes = [] }
    try configuration.apply(params)
    if let preset { configuration.complete(from: preset, tenantClaim: params.authorization?.tenantClaim) }
    self.init(configuration: configuration, clientSecret: params.clientSecret, clientKey: params.clientKey)
    try chooseAuthentication(ClientAuthMethod(params.tokenEndpointAuthMethod), signer: signer)
  }
}

extension Call {
  /// Whether or not a request needs them now: the next document of the provider may lead to a server with TLS.
  func requireCertificates(at path: String?) async throws(AgentFailure) {
    guard let path, !path.isEmpty else { return }
    guard await agent.environment.http.hasCertificates(at: path) else { throw .provider(.noAuthorities) }
  }

  /// A provider whose policy is not there would deny everything.
  func requirePolicy(named name: String) async throws(AgentFailure) {
    _ = try await agent.vault.read { vault throws(AgentFailure) in try vault.policies.policy(named: name) }
  }
}
