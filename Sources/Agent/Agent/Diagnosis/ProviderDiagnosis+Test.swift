internal import AgentCore
internal import AgentModel
package import AgentOAuth
internal import AgentPorts

/// Tries a provider before a person signs in there (docs/tokens.md, Trying a provider).
extension ProviderDiagnosis {
  /// More servers than one provider has.
  private static let mostServers = 16

  /// What works without a sign-in. Nothing of it is kept.
  package func test(_ provider: Provider) async -> [Finding] {
    var trial = ProviderTrial(provider: provider)
    // First the keys: with a wrong pin nothing else works.
    let known = Self.servers(of: provider)
    for server in known { await readKey(of: server, into: &trial) }
    if !provider.configuration.knowsItsEndpoints {
      guard await diagnose(&trial.provider, into: &trial.findings) else { return trial.findings.list }
      for server in Self.servers(of: trial.provider) where !known.contains(where: { $0.origin == server.origin }) {
        await readKey(of: server, into: &trial)
      }
    }
    let provider = trial.provider
    let client = agent.client(of: provider)
    let endpoints = provider.endpoints
    if let endpoint = endpoints.authorization {
      let (answer, uri) = await client.trials.authorization(at: endpoint)
      trial.reportAuthorization(answer, redirectURI: uri)
    }
    if endpoints.token != nil { trial.reportToken(await client.trials.token()) }
    if let endpoint = endpoints.deviceAuthorization {
      trial.reportDevice(await client.trials.device(at: endpoint))
    } else {
      trial.reportDevice(nil)
    }
    if let endpoint = endpoints.revocation {
      trial.reportRevocation(await client.trials.revocation(at: endpoint))
    } else {
      trial.reportRevocation(nil)
    }
    if endpoints.jwks != nil { trial.reportKeys(await Self.keys(of: client)) }
    trial.reportRefreshing()
    return trial.findings.list
  }

  private func readKey(of server: HTTPURL, into trial: inout ProviderTrial) async {
    let key = await agent.client(of: trial.provider).serverKey(at: server.origin)
    trial.report(key, of: server.host, now: agent.time.now(for: trial.name))
  }

  private static func keys(of client: ProviderClient) async -> Result<Int, DocumentFailure> {
    do throws(DocumentFailure) {
      return .success(try await client.documents.readKeys(into: nil)?.keys.count ?? 0)
    } catch {
      return .failure(error)
    }
  }

  /// The servers with TLS that requests go to, each once.
  private static func servers(of provider: Provider) -> [HTTPURL] {
    let endpoints = provider.endpoints
    let named = [
      provider.configuration.issuer, endpoints.authorization, endpoints.token, endpoints.deviceAuthorization,
      endpoints.revocation, endpoints.userinfo, endpoints.jwks,
    ]
    var found: [HTTPURL] = []
    for url in (named.compactMap { $0 } + provider.configuration.allowedOrigins).compactMap({ HTTPURL($0) })
    where url.scheme == .https && !found.contains(where: { $0.origin == url.origin }) && found.count < mostServers {
      found.append(url)
    }
    return found
  }
}
