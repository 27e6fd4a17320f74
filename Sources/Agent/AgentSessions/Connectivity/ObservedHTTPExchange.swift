internal import AgentModel
internal import AgentOAuth
internal import AgentPorts

/// Sends the requests to one provider. Each outcome is reported to `ConnectivityState`, and each status to
/// `MetadataRefresher`.
struct ObservedHTTPExchange: HTTPExchange {
  let base: any HTTPExchange
  let provider: Provider
  let connectivity: ConnectivityState
  let metadata: MetadataRefresher

  func send(_ request: HTTPRequest) async -> HTTPOutcome {
    let outcome = await connectivity.send(request, to: provider.configuration.name, through: base)
    if case .response(let response) = outcome { metadata.recordStatus(response.status, of: provider) }
    return outcome
  }

  func trust(of request: HTTPRequest) -> TrustSettings { base.trust(of: request) }
  func serverKey(for request: HTTPRequest) async -> ServerKey { await base.serverKey(for: request) }
}
