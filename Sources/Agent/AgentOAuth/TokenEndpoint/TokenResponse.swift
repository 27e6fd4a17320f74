package import AgentCore
package import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// A successful answer of the token endpoint (RFC 6749 §5.1), its secrets in guarded memory.
package struct TokenResponse: Sendable {
  /// Nil if there is none that this agent can use; a refresh token beside it is good all the same.
  package var accessToken: Secret?
  /// There was one, though perhaps of a type that this agent must not use (RFC 6749 §7.1).
  package var issuedAccessToken: Bool
  /// `Bearer` or `DPoP`; empty for a type that this agent does not know.
  package var tokenType: String
  /// What stands as `token_type` of an access token that this agent must not use, for people.
  package var unknownTokenType: String?
  /// Nil if the provider did not say.
  package var expiresIn: Milliseconds?
  package var refreshIn: Milliseconds?
  package var refreshToken: Secret?
  /// Nil if the provider did not say.
  package var refreshTokenLifetime: RefreshTokenLifetime?
  /// Nil if the scope is as it was asked for. Compare `ScopeSet.granted`.
  package var scope: ScopeSet?
  /// The resources that the answer names for its access token, as some servers do.
  var resources: [String] = []
  package var idToken: Secret?
  /// What the grant has now (RFC 9396 §7); nil if the provider did not say, or not in a form that can be read.
  package var authorizationDetails: AuthorizationDetails?

  /// What an answer tells of its refresh token's lifetime.
  package enum RefreshTokenLifetime: Hashable, Sendable {
    case ends(after: Milliseconds)
    /// 0, as Keycloak tells of an offline token: it has no end, or none that the provider knows. No server issues a
    /// refresh token that has expired.
    case endless

    /// - Parameter told: by the members of the answer that tell one. One that tells an end counts.
    fileprivate init?(_ told: [Milliseconds]) {
      guard !told.isEmpty else { return nil }
      self = told.first { $0 > .zero }.map { .ends(after: $0) } ?? .endless
    }

    /// Nil if there is none.
    package var end: Milliseconds? { if case .ends(let lifetime) = self { lifetime } else { nil } }
  }

  /// True if the provider issued something, usable or not.
  var hasTokens: Bool { issuedAccessToken || refreshToken != nil }

  /// Reads a JSON object, one that is the only element of an array, or a form (`FormAnswer`). Nil if the body is none
  /// of these, and no refresh token can be found in it either.
  ///
  /// - Parameter separators: those of the provider's `scope` (`Provider.scopeSeparators`).
  package init?(body: Secret, _ separators: ScopeSet.Separators = .spaces) {
    let body = body.withoutPreface
    let read = ProviderJSON.read(body) { node -> TokenResponse? in
      guard node.kind == .array else { return TokenResponse(node, separators) }
      let elements = Array(node.elements.prefix(2))
      return elements.count == 1 ? TokenResponse(elements[0], separators) : nil
    }
    if let read = read ?? FormAnswer(body).flatMap({ TokenResponse($0, separators) }) {
      self = read
      return
    }
    guard let refreshToken = LenientTokenReader.refreshToken(in: body) else { return nil }
    self.init(
      accessToken: nil, issuedAccessToken: false, tokenType: "", expiresIn: nil, refreshIn: nil,
      refreshToken: refreshToken, refreshTokenLifetime: nil, scope: nil, idToken: nil)
  }

  private init?(_ node: JSONNode, _ separators: ScopeSet.Separators) {
    guard node.kind == .object, !node.namesTwice(Self.secretMembers),
      // An ID token in which something was replaced is refused when it is read, and spoils no other.
      ![node["access_token"], node["refresh_token"]].contains(where: { $0?.isDoubtful == true })
    else { return nil }
    let tokenType = Self.tokenType(node["token_type"])
    let accessToken = node["access_token"]?.nonemptySecret
    self.init(
      accessToken: tokenType == nil ? nil : accessToken.flatMap { $0.fitsAHeader ? $0 : nil },
      issuedAccessToken: accessToken != nil,
      tokenType: tokenType ?? "",
      expiresIn: node["expires_in"]?.number.flatMap(Milliseconds.init(remaining:)),
      refreshIn: node["refresh_in"]?.lifetime, refreshToken: node["refresh_token"]?.nonemptySecret,
      refreshTokenLifetime: RefreshTokenLifetime(
        [node["refresh_token_expires_in"], node["refresh_expires_in"]].compactMap { $0?.lifetime }),
      scope: node["scope"]?.scopes(separators), idToken: node["id_token"]?.nonemptySecret)
    if accessToken != nil, tokenType == nil, let told = node["token_type"] {
      unknownTokenType = told.string.map { "`\"\(ProviderRefusals.cleaned($0))\"`" } ?? told.kindForPeople
    }
    authorizationDetails = AuthorizationDetails(granted: node["authorization_details"])
    resources = node["resource"]?.strings ?? [node["resource"]?.string].compactMap { $0 }
  }

  /// Nil if the form holds no token, or one that it names twice.
  private init?(_ form: FormAnswer, _ separators: ScopeSet.Separators) {
    guard !Self.secretMembers.contains(where: { form.count(of: $0) > 1 }) else { return nil }
    let (accessToken, refreshToken) = (form["access_token"], form["refresh_token"])
    guard accessToken != nil || refreshToken != nil else { return nil }
    let tokenType = form.text("token_type").map { Self.knownType($0) ?? "" } ?? Self.bearer
    self.init(
      accessToken: tokenType.isEmpty ? nil : accessToken.flatMap { $0.fitsAHeader ? $0 : nil },
      issuedAccessToken: accessToken != nil, tokenType: tokenType,
      expiresIn: form.text("expires_in").flatMap(Double.init).flatMap(Milliseconds.init(remaining:)),
      refreshIn: form.text("refresh_in").flatMap(Double.init).flatMap(Milliseconds.init(lifetime:)),
      refreshToken: refreshToken,
      refreshTokenLifetime: RefreshTokenLifetime(
        ["refresh_token_expires_in", "refresh_expires_in"]
          .compactMap { form.text($0).flatMap(Double.init).flatMap(Milliseconds.init(lifetime:)) }),
      scope: form.text("scope").flatMap { ScopeSet(saying: $0, separators) }, idToken: form["id_token"])
  }

  /// True if the answer or its access token, where that is a JWT (RFC 9068 §2.2), names the resource.
  package func isFor(_ resource: String) -> Bool {
    let audiences = accessToken?.withBytes { AccessTokenAudience.of($0) } ?? []
    return (resources + audiences).contains { AccessTokenAudience.isSame($0, resource) }
  }

  /// Members that must not occur twice: the agent could not tell which of two tokens is meant (RFC 8259 §4).
  private static let secretMembers = ["access_token", "refresh_token", "id_token", "token_type"]

  private init(
    accessToken: Secret?, issuedAccessToken: Bool, tokenType: String, expiresIn: Milliseconds?,
    refreshIn: Milliseconds?, refreshToken: Secret?,
    refreshTokenLifetime: RefreshTokenLifetime?, scope: ScopeSet?, idToken: Secret?
  ) {
    self.accessToken = accessToken
    self.issuedAccessToken = issuedAccessToken
    self.tokenType = tokenType
    self.expiresIn = expiresIn
    self.refreshIn = refreshIn
    self.refreshToken = refreshToken
    self.refreshTokenLifetime = refreshTokenLifetime
    self.scope = scope
    self.idToken = idToken
  }

  /// A bearer token alone, of an answer that is none of OAuth.
  init(bearer token: Secret, expiresIn: Milliseconds, scope: ScopeSet) {
    self.init(
      accessToken: token, issuedAccessToken: true, tokenType: Self.bearer, expiresIn: expiresIn, refreshIn: nil,
      refreshToken: nil, refreshTokenLifetime: nil, scope: scope, idToken: nil)
  }

  /// The type is compared without case (RFC 6749 §5.1); a client that does not know it must not use the token (§7.1).
  /// Where it was forgotten, nothing else can be meant.
  private static func tokenType(_ node: JSONNode?) -> String? {
    guard let node, node.kind != .null else { return bearer }
    return node.string.flatMap(knownType)
  }

  private static func knownType(_ text: String) -> String? {
    [bearer, dpop].first { $0.lowercased() == text.lowercased() }
  }

  private static let bearer = "Bearer"
  private static let dpop = "DPoP"

  /// The access token is bound to the key of the proof that the request had (RFC 9449 §5).
  package var isBound: Bool { tokenType == Self.dpop }

  /// Without an access token that is bound to a key which is not there: it could not be used.
  package func usable(with device: DeviceKey?) -> TokenResponse {
    guard isBound, device == nil else { return self }
    var usable = self
    usable.accessToken = nil
    return usable
  }
}

extension Secret {
  /// RFC 6749 Appendix A.12: printable ASCII. Anything else could not be sent, or would be another header.
  fileprivate var fitsAHeader: Bool { withBytes { $0.allSatisfy { (0x20...0x7E).contains($0) } } }
}

extension JSONNode {
  fileprivate var nonemptySecret: Secret? { secret.flatMap { $0.count > 0 ? $0 : nil } }

  fileprivate func namesTwice(_ names: [String]) -> Bool {
    guard hasDuplicateKeys else { return false }
    let keys = members.compactMap(\.key.string)
    return names.contains { name in keys.count { $0 == name } > 1 }
  }

  /// Seconds as a number or, as some providers write them, as a string of digits; bounded by ten years. One that is
  /// negative is no lifetime.
  fileprivate var lifetime: Milliseconds? { number.flatMap(Milliseconds.init(lifetime:)) }

  fileprivate var number: Double? { integer.map(Double.init) ?? double ?? string.flatMap { Double($0) } }

  /// Space-delimited (RFC 6749 §3.3) or, as some providers write them, a list. Of what is neither, nothing is known.
  func scopes(_ separators: ScopeSet.Separators = .spaces) -> ScopeSet? {
    if kind == .null { return nil }
    if let string { return ScopeSet(saying: string, separators) }
    guard let strings, strings.count == elements.count(where: { _ in true }) else {
      return ScopeSet([], lacksSome: true)
    }
    return ScopeSet(told: strings.joined(separator: " "), separators)
  }
}

extension ScopeSet {
  /// Nil for a text without a scope, which RFC 6749 §3.3 does not have: it is as absent. A provider that lists scopes in a
  /// form of its own (GitHub) says with it that there are none.
  fileprivate init?(saying text: String, _ separators: Separators) {
    if separators == .spaces, text.allSatisfy({ $0 == " " }) { return nil }
    self.init(told: text, separators)
  }
}

extension Milliseconds {
  fileprivate init?(lifetime seconds: Double) {
    guard seconds >= 0 else { return nil }  // no NaN either
    self = .seconds(Int64(min(seconds, 315_360_000)))
  }
}

extension Milliseconds {
  /// The `expires_in` of an access token: a negative one is that of a token which has expired, like 0.
  fileprivate init?(remaining seconds: Double) {
    guard !seconds.isNaN else { return nil }
    self.init(lifetime: max(0, seconds))
  }
}
