internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import SecretJSON
internal import Secrets

/// The tokens of an installation of a GitHub App (docs.github.com, Generating an installation access token for a GitHub
/// App; Rate limits for the REST API; read on 2026-11-29). The request and its answer are none of OAuth.
extension ProviderClient {
  private static let version = "2022-11-28"

  /// - Parameter key: only the standard one: the token has all that the installation may.
  func installationToken(
    _ installation: MachineGrant.Installation, for key: TokenKey, at endpoint: String
  ) async -> MachineAnswer {
    if key.scopes != nil { return .failed(.misconfigured("invalid_scope")) }
    if key.resource != nil { return .failed(.misconfigured("invalid_target")) }
    guard let assertion = signed(ClientAssertion(ofApp: installation.appID, now: now)) else {
      return .failed(.unsigned)
    }
    let outcome = await send(gitHubRequest("POST", endpoint, authorizedBy: assertion))
    guard case .response(let response) = outcome else {
      switch outcome {
      case .notConnected(let failure): return .failed(.offline(failure))
      case .untrusted(let reason): return .failed(.untrustedServer(reason))
      case .unknown(let lost, _): return .failed(.unknownOutcome(lost.rawValue))
      case .response: return .failed(.store)
      }
    }
    recordTime(response)
    return read(response)
  }

  /// Ends an installation's token, which authorizes that itself (docs.github.com, REST API endpoints for GitHub App
  /// installations, Revoke an installation access token; read on 2026-11-29). 204 says that it has ended.
  func revokeInstallationToken(_ token: Secret, at endpoint: String) async -> RevocationOutbox.Answer {
    guard case .response(let response) = await send(gitHubRequest("DELETE", endpoint, authorizedBy: token)) else {
      return .none
    }
    let refusal = TokenEndpointRefusal(response, now: now)
    // What GitHub did not say tells nothing of the token, and neither does a limit of its requests.
    let isOfTheToken = response.status == 204 || isGitHubs(response, refusal)
    let status = isThrottled(response, refusal) ? 429 : isOfTheToken ? response.status : 502
    return .response(status: status, error: nil, retryAfter: refusal.retryAfter)
  }

  private func gitHubRequest(_ method: String, _ url: String, authorizedBy credential: Secret) -> HTTPRequest {
    let fields = [
      HTTPField("Accept", "application/vnd.github+json"), HTTPField("X-GitHub-Api-Version", Self.version),
    ]
    var request = request(method, url, fields: fields, body: nil)
    request.place(credential, at: .bearer)
    return request
  }

  private func read(_ response: HTTPResponse) -> MachineAnswer {
    let refusal = TokenEndpointRefusal(response, now: now)
    let pause = refusal.retryAfter.map { min($0, FailureClassifier.longestPause) }
    switch response.status {
    case 200...299:
      guard let token = TokenResponse(ofInstallation: response.body, now: now) else {
        return .failed(.transient(FailureClassifier.notAnOAuthAnswer, retryAfter: nil))
      }
      dependencies.refusals?.forget(provider.configuration.name)
      return .token(token, sentAt: response.sentAt)
    case 403 where isThrottled(response, refusal), 429:
      return .failed(.transient("throttled", retryAfter: pause ?? FailureClassifier.throttledPause))
    case 403 where saysNothing(response, refusal):
      return .failed(.reauthenticate(reason: TokenMachine.installationSuspended))
    case 404 where saysNothing(response, refusal):
      return .failed(.reauthenticate(reason: TokenMachine.installationUnknown))
    // What a portal, a proxy or a gateway says tells nothing of the installation.
    case 400...499 where !isGitHubs(response, refusal):
      return .failed(.transient(FailureClassifier.notAnOAuthAnswer, retryAfter: pause))
    case 403 where saysSuspended(refusal):
      return .failed(.reauthenticate(reason: TokenMachine.installationSuspended))
    case 404: return .failed(.reauthenticate(reason: TokenMachine.installationUnknown))
    case 400...499:
      dependencies.refusals?.record(refusal, from: provider.configuration.name, hiding: nil)
      return .failed(.misconfigured("status\(response.status)"))
    default: return .failed(.transient("status\(response.status)", retryAfter: pause))
    }
  }

  /// Servers of GitHub's interface may say no more than the status: nothing, or an object without members.
  private func saysNothing(_ response: HTTPResponse, _ refusal: TokenEndpointRefusal) -> Bool {
    if refusal.isPage { return false }
    if response.body.withBytes({ $0.allSatisfy(\.isBlank) }) { return true }
    return ProviderJSON.read(response.body) { $0.kind == .object && Array($0.members).isEmpty } ?? false
  }

  /// GitHub's refusals are JSON with a `message`. Servers of its interface may leave that out, but not where a body says
  /// something and the same status has several meanings.
  private func isGitHubs(_ response: HTTPResponse, _ refusal: TokenEndpointRefusal) -> Bool {
    if refusal.isPage { return false }
    if refusal.description != nil || response.status == 403 { return refusal.description != nil }
    return ProviderJSON.read(response.body) { $0.kind == .object } ?? false
  }

  /// GitHub says "This installation has been suspended" (octokit/octokit.rb pull request 1307, read on 2026-11-29). Its 403
  /// has other messages, too, such as "Resource not accessible by integration", after which no installation is amiss.
  private func saysSuspended(_ refusal: TokenEndpointRefusal) -> Bool {
    refusal.description?.lowercased().contains("suspended") == true
  }

  /// The status of a suspended installation is also that of a client that asks too often.
  private func isThrottled(_ response: HTTPResponse, _ refusal: TokenEndpointRefusal) -> Bool {
    refusal.retryAfter != nil || response.field("X-RateLimit-Remaining") == "0"
      || refusal.description?.lowercased().contains("rate limit") == true
  }
}

extension TokenResponse {
  /// The answer about an installation; nil if it has no token. Its permissions stand as scopes, such as `contents:read`.
  ///
  /// - Parameter now: the provider's time, with which the end that it names is compared.
  init?(ofInstallation body: Secret, now: Timestamp) {
    let read = ProviderJSON.read(body) { node -> TokenResponse? in
      guard let token = node["token"]?.secret, token.count > 0,
        token.withBytes({ $0.allSatisfy { 0x21...0x7E ~= $0 } }),
        let end = node["expires_at"]?.string.flatMap({ Timestamp(rfc3339: $0) })
      else { return nil }
      let permissions = node.members(of: "permissions").compactMap { name, level in
        level.string.flatMap { level in name.string.map { "\($0):\(level)" } }
      }
      return TokenResponse(
        bearer: token, expiresIn: max(.zero, end - now), scope: ScopeSet(told: permissions.joined(separator: " ")))
    }
    guard let read else { return nil }
    self = read
  }
}
