internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import Secrets

/// A successful answer of the token endpoint (RFC 6749 §5.1), its secrets in guarded memory.
struct TokenResponse: Sendable {
  /// Nil if there is none that this agent can use; a refresh token beside it is good all the same.
  var accessToken: Secret?
  var tokenType: String
  /// Nil if the provider did not say.
  var expiresIn: Milliseconds?
  var refreshIn: Milliseconds?
  var refreshToken: Secret?
  var refreshTokenExpiresIn: Milliseconds?
  /// Nil if the scope is as it was asked for.
  var scope: ScopeSet?
  var idToken: Secret?

  /// Nil if the body is no JSON object.
  init?(body: Secret) {
    let read = RecordCoding.read(body) { node -> TokenResponse? in
      guard node.kind == .object, !node.hasDuplicateKeys else { return nil }
      let tokenType = node["token_type"]?.string.flatMap(Self.tokenType)
      return TokenResponse(
        accessToken: tokenType == nil ? nil : node["access_token"]?.nonemptySecret, tokenType: tokenType ?? "",
        expiresIn: node["expires_in"]?.lifetime,
        refreshIn: node["refresh_in"]?.lifetime, refreshToken: node["refresh_token"]?.nonemptySecret,
        refreshTokenExpiresIn: (node["refresh_token_expires_in"] ?? node["refresh_expires_in"])?.lifetime,
        scope: node["scope"]?.string.map(ScopeSet.init(spaceDelimited:)), idToken: node["id_token"]?.secret)
    }
    guard let read else { return nil }
    self = read
  }

  private init(
    accessToken: Secret?, tokenType: String, expiresIn: Milliseconds?, refreshIn: Milliseconds?, refreshToken: Secret?,
    refreshTokenExpiresIn: Milliseconds?, scope: ScopeSet?, idToken: Secret?
  ) {
    self.accessToken = accessToken
    self.tokenType = tokenType
    self.expiresIn = expiresIn
    self.refreshIn = refreshIn
    self.refreshToken = refreshToken
    self.refreshTokenExpiresIn = refreshTokenExpiresIn
    self.scope = scope
    self.idToken = idToken
  }

  /// The type is compared without case (RFC 6749 §5.1); a client that does not know it must not use the token (§7.1).
  private static func tokenType(_ text: String) -> String? {
    switch text.lowercased() {
    case "bearer": "Bearer"
    default: nil
    }
  }
}

extension JSONNode {
  fileprivate var nonemptySecret: Secret? { secret.flatMap { $0.count > 0 ? $0 : nil } }

  /// Seconds as a number or, as some providers write them, as a string of digits; bounded by ten years.
  fileprivate var lifetime: Milliseconds? {
    let seconds = integer ?? double.flatMap { Int64(exactly: $0.rounded(.down)) } ?? string.flatMap { Int64($0) }
    guard let seconds, seconds >= 0 else { return nil }
    return .seconds(min(seconds, 315_360_000))
  }
}

extension TokenEndpointRefusal {
  /// Reads an error answer (RFC 6749 §5.2) as far as it is one.
  init(_ response: HTTPResponse, now: Timestamp) {
    self.init(status: response.status)
    retryAfter = response.field("Retry-After").flatMap { field in
      if let seconds = Int64(field) { return seconds >= 0 ? .seconds(min(seconds, 1 << 31)) : nil }
      return Timestamp(httpDate: field, now: now).map { max(.zero, $0 - now) }
    }
    let read: TokenEndpointRefusal? = RecordCoding.read(response.body) { node in
      var refusal = self
      refusal.error = node["error"]?.string
      refusal.suberror = node["suberror"]?.string
      refusal.claims = node["claims"]?.string
      refusal.codes = (node["error_codes"].map { Array($0.elements) } ?? []).compactMap {
        $0.string ?? $0.integer.map(String.init)
      }
      if let code = node["code"]?.string { refusal.codes.append(code) }
      return refusal
    }
    if let read { self = read }
  }
}
