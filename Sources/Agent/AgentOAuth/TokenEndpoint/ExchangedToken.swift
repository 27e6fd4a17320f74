package import AgentCore
package import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// A successful answer to a token exchange (RFC 8693 §2.2.1). A refresh token beside it is never read.
package struct ExchangedToken: Sendable {
  package var secret: Secret
  /// `Bearer`, `DPoP` for one that is bound to the key of the exchange, or `N_A` where no request carries the token.
  package var tokenType: String
  /// The URI of its type.
  package var issuedTokenType: String
  package var expiresIn: Milliseconds?
  package var scope: ScopeSet?
  /// As the provider told (RFC 9396 §7).
  package var details: AuthorizationDetails?

  /// The types of RFC 8693 §3.
  package enum TokenType {
    package static let accessToken = "urn:ietf:params:oauth:token-type:access_token"
    package static let refreshToken = "urn:ietf:params:oauth:token-type:refresh_token"
    package static let idToken = "urn:ietf:params:oauth:token-type:id_token"
    package static let jwt = "urn:ietf:params:oauth:token-type:jwt"
  }

  /// Why an answer is not taken. The raw values are `data.reason` on the wire.
  enum Problem: String, Error {
    case malformedAnswer, noIssuedTokenType, unsupportedTokenType
  }

  private static let longestType = 256

  /// - Parameter hasProof: the request proved a key, so that the token may be bound to it (RFC 9449 §5).
  init(body: Secret, _ separators: ScopeSet.Separators = .spaces, hasProof: Bool = false) throws(Problem) {
    let read = ProviderJSON.read(body, duplicateKeys: .refused) { node -> Result<ExchangedToken, Problem>? in
      guard node.kind == .object, let secret = node["access_token"]?.secret, secret.count > 0,
        secret.withBytes({ $0.allSatisfy { (0x20...0x7E).contains($0) } })
      else { return nil }
      guard let issued = node["issued_token_type"]?.string, (1...Self.longestType).contains(issued.utf8.count),
        issued.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
      else { return .failure(.noIssuedTokenType) }
      // Nothing of this agent's callers may hold a refresh token.
      guard issued != TokenType.refreshToken,
        let type = Self.tokenType(node["token_type"], issued: issued, hasProof)
      else {
        return .failure(.unsupportedTokenType)
      }
      return .success(
        ExchangedToken(
          secret: secret, tokenType: type, issuedTokenType: issued, expiresIn: node["expires_in"]?.seconds,
          scope: node["scope"]?.scopes(separators),
          details: AuthorizationDetails(granted: node["authorization_details"])))
    }
    switch read {
    case .success(let token)?: self = token
    case .failure(let problem)?: throw problem
    case nil: throw .malformedAnswer
    }
  }

  private init(
    secret: Secret, tokenType: String, issuedTokenType: String, expiresIn: Milliseconds?, scope: ScopeSet?,
    details: AuthorizationDetails?
  ) {
    self.secret = secret
    self.tokenType = tokenType
    self.issuedTokenType = issuedTokenType
    self.expiresIn = expiresIn
    self.scope = scope
    self.details = details
  }

  /// Compared without case (RFC 6749 §5.1). One that this agent does not know must not be used (§7.1).
  private static func tokenType(_ node: JSONNode?, issued: String, _ hasProof: Bool) -> String? {
    guard let node, node.kind != .null else { return issued == TokenType.accessToken ? "Bearer" : "N_A" }
    switch node.string?.lowercased() {
    case "bearer": return "Bearer"
    case "dpop" where hasProof: return "DPoP"
    case "n_a": return "N_A"
    default: return nil
    }
  }

  /// True if the token, where it is a JWT (RFC 9068 §2.2), names the resource.
  package func isFor(_ resource: String) -> Bool {
    secret.withBytes { AccessTokenAudience.of($0) }.contains { AccessTokenAudience.isSame($0, resource) }
  }
}

extension ProviderClient {
  package enum ExchangeAnswer: Sendable {
    case token(ExchangedToken, sentAt: BootInstant)
    /// The provider does not take the subject token; its `error`.
    case subjectRefused(String)
    case failed(ExchangeFailure)
  }

  /// Exchanges an access token of the account for another token (RFC 8693 §2.1). The exchange spends nothing: it may be
  /// repeated after a lost answer.
  package func exchange(_ subject: AccessCredential, for key: DerivedTokenKey) async -> ExchangeAnswer {
    guard provider.endpoints.token != nil else { return .failed(.misconfigured("noTokenEndpoint")) }
    // As for a refresh: the provider would refuse the request, and count it.
    guard key.resource == nil || provider.configuration.takesResource else {
      return .failed(.misconfigured("invalid_target"))
    }
    var form = FormBody()
    form.append("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")
    form.append("subject_token", subject.token)
    form.append("subject_token_type", ExchangedToken.TokenType.accessToken)
    if let type = key.type { form.append("requested_token_type", type) }
    if let resource = key.resource { form.append("resource", resource) }
    if let audience = key.audience { form.append("audience", audience) }
    if let scopes = key.scopes { form.append("scope", scopes.spaceDelimited) }
    if let details = key.details { form.append("authorization_details", details.text) }  // RFC 9396 §6
    switch await exchange(form, boundTo: subject.key) {
    case .response(let response): return read(response, hasProof: subject.key != nil)
    case .notConnected(let failure): return .failed(.offline(failure))
    case .untrusted(let reason): return .failed(.untrustedServer(reason))
    case .unknown(let lost, _): return .failed(.unknownOutcome(lost.rawValue))
    }
  }

  private func read(_ response: HTTPResponse, hasProof: Bool) -> ExchangeAnswer {
    let refusal = TokenEndpointRefusal(response, now: now)
    if (200...299).contains(response.status), refusal.error == nil {
      do throws(ExchangedToken.Problem) {
        let token = try ExchangedToken(body: response.body, provider.scopeSeparators, hasProof: hasProof)
        dependencies.refusals?.forget(provider.configuration.name)
        return .token(token, sentAt: response.sentAt)
      } catch {
        return .failed(.misconfigured(error.rawValue))
      }
    }
    switch meaning(of: refusal) {
    // A refusal of the subject token; of the session it says nothing.
    case .reauthenticate: return .subjectRefused(refusal.error ?? "invalid_grant")
    // `invalid_request` and others: this request is refused, whatever the session is worth.
    case .unexplained:
      return .failed(refusal.error.map { .misconfigured($0) } ?? .transient("status\(refusal.status)", retryAfter: nil))
    case let failure: return .failed(failure)
    }
  }
}

extension JSONNode {
  /// A lifetime, bounded by ten years; a negative one is that of a token which has expired.
  fileprivate var seconds: Milliseconds? {
    (integer.map(Double.init) ?? double ?? string.flatMap { Double($0) }).flatMap {
      $0.isNaN ? nil : .seconds(Int64(min(max(0, $0), 315_360_000)))
    }
  }
}
