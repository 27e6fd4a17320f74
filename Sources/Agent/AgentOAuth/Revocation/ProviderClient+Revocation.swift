package import AgentCore
internal import AgentModel
internal import AgentPorts
package import Secrets

/// Requests that end a token (RFC 7009).
extension ProviderClient {
  package func revoke(_ token: Secret, _ kind: TokenTypeHint) async -> RevocationOutbox.Answer {
    guard let endpoint = provider.revocationEndpoint else { return .none }
    if provider.revokesByOwnRequest { return await revokeInstallationToken(token, at: endpoint) }
    var form = FormBody.naming(token, kind)
    guard let fields = authenticate(&form, at: endpoint) else { return .none }
    return revocationAnswer(await send(request("POST", endpoint, fields: fields, body: form.finish())))
  }

  /// A page with a success is of a portal or a proxy, or of a server that answers every path: it confirms nothing. Nothing
  /// else in the body of a success matters but an error (RFC 7009 §2.2).
  func revocationAnswer(_ outcome: HTTPOutcome) -> RevocationOutbox.Answer {
    guard case .response(let response) = outcome else { return .none }
    if (200...299).contains(response.status), response.isMarkup { return .none }
    let refusal = TokenEndpointRefusal(response, now: now)
    return .response(status: response.status, error: refusal.error, retryAfter: refusal.retryAfter)
  }
}
