internal import AgentCore
package import AgentModel
internal import AgentPorts
package import JSONRPC
internal import Secrets

/// Reads what a provider publishes of itself, and what it says of its tokens.
package struct ProviderDocuments: Sendable {
  let client: ProviderClient

  /// Reads a public document.
  package func read<Result>(
    _ url: String, timeout: Milliseconds? = nil, _ read: (JSONNode) -> Result?
  ) async throws(DocumentFailure) -> Result {
    var request = client.request("GET", url, fields: [HTTPField("Accept", "application/json")], body: nil)
    if let timeout { request.timeout = timeout }
    let fetched = await fetch(request)
    guard !fetched.isPage else { throw .page }
    return try judge(fetched, read)
  }

  /// The issuer that a discovery document names.
  package func issuer(in url: String) async throws(DocumentFailure) -> String {
    try await read(url) { $0["issuer"]?.string }
  }

  /// The provider's answer about a token of this client (RFC 7662). It says whose the token is, so that no member may stand
  /// twice.
  func introspect<Result>(
    _ token: Secret, at endpoint: String, _ read: (JSONNode) -> Result?
  ) async throws(DocumentFailure) -> Result {
    var form = FormBody.naming(token, .accessToken)
    guard let fields = client.authenticate(&form, at: endpoint) else { throw .malformed }
    let request = client.request("POST", endpoint, fields: fields, body: form.finish())
    return try judge(await fetch(request), duplicateKeys: .refused, read)
  }

  private func judge<Result>(
    _ fetched: Fetched, duplicateKeys: JSONScanner.DuplicateKeys = .allowed, _ read: (JSONNode) -> Result?
  ) throws(DocumentFailure) -> Result {
    let result = ProviderJSON.read(try body(of: fetched), duplicateKeys: duplicateKeys, read)
    guard let result else { throw .malformed }
    return result
  }

  /// The body of a success.
  func body(of fetched: Fetched) throws(DocumentFailure) -> Secret {
    switch fetched {
    case .outcome(.response(let response)) where response.isDocument: return response.body
    case .outcome(.response(let response)):
      let pause = TokenEndpointRefusal(response, now: client.now).retryAfter
      throw .unavailable(status: response.status, retryAfter: pause)
    case .outcome(.untrusted(let reason)): throw .untrusted(reason)
    case .outcome(.notConnected(let failure)): throw .offline(failure)
    case .outcome(.unknown): throw .unavailable(status: 0)
    case .redirected(_, let origin): throw .redirected(to: origin)
    }
  }

  /// Discovery, both documents joined; the issuer must be just the one that was configured (RFC 8414 §3.3), but for
  /// what a preset knows (`IssuerPattern`).
  ///
  /// `wholly`: a document that might be there and can't be had now counts as no answer, since what only it tells would
  /// be missing. A provider with exact documents has one of them, which is not joined.
  package func discover(wholly: Bool = false) async throws(DocumentFailure) -> ServerMetadata {
    if client.provider.configuration.isExact { return try await discoverExactly() }
    let issuer = client.provider.configuration.issuer
    let metadata: (JSONNode) -> ServerMetadata? = { node in
      ServerMetadata(node).flatMap { client.provider.isItself($0.issuer) ? $0 : nil }
    }
    let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    var second: ServerMetadata?
    if let url = HTTPURL(issuer) {
      // RFC 8414 §3.1 puts the well-known part between host and path.
      let path = url.path == "/" ? "" : url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
      do {
        second = try await read(url.origin + "/.well-known/oauth-authorization-server" + path, metadata)
      } catch {
        if wholly, error.isInconclusive { throw error }
      }
    }
    do {
      return try await read(base + "/.well-known/openid-configuration", metadata).joined(with: second)
    } catch {
      // One that is there and names another issuer is a reason to change nothing of what was known.
      let isDoubtful =
        switch error {
        case .malformed, .page: true
        default: error.isInconclusive
        }
      guard let second, !(wholly && isDoubtful) else { throw error }
      return second
    }
  }
}

extension HTTPResponse {
  /// A whole answer: 200, 201, which some servers say of each POST, or 203, which a proxy says that changed the answer (RFC
  /// 9110 §15.3.4).
  var isDocument: Bool { [200, 201, 203].contains(status) }
}
