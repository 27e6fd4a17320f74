internal import AgentCore
internal import AgentModel

/// Decides which issuers the agent accepts in documents, answers and ID tokens of a provider.
extension Provider {
  private var pattern: IssuerPattern? {
    configuration.isExact ? nil : preset?.issuerPattern(at: configuration.issuer)
  }

  /// The issuer of a discovery document is the one that was configured, or one of its tenants where the preset says so.
  /// Texts are compared, not addresses: no case is folded, and no port, slash or escape is added or taken away.
  package func isItself(_ issuer: String) -> Bool {
    equalCodePoints(issuer, configuration.issuer) || pattern?.covers(issuer) == true
  }

  /// The issuer that an ID token of this tenant must name; nil if it must name a tenant and does not.
  package func issuer(ofTenant tenant: String?) -> String? {
    guard let pattern else { return configuration.issuer }
    // Some addresses are one tenant's after all, and say so.
    if let told = metadata?.issuer, !pattern.isTemplate(told), pattern.covers(told) { return told }
    return tenant.flatMap { pattern.issuer(ofTenant: $0) }
  }

  /// Whether an ID token may be for this audience beside the client (OpenID Connect Core §3.1.3.7, 3): one that the
  /// sign-in asked for, as a resource, in a parameter of the authorization request, or within a scope (Dex's
  /// `audience:server:client_id:ID`, Zitadel's `urn:zitadel:iam:org:project:id:ID:aud`).
  func trusts(audience: String, askedWith scopes: [String]) -> Bool {
    let asked = configuration.resources + configuration.authorizationParameters.values
    return asked.contains { equalCodePoints($0, audience) }
      || scopes.contains { scope in scope.split(separator: ":").contains { equalCodePoints(String($0), audience) } }
      || namesProjects
  }

  /// Zitadel names all clients of a project and the project itself in each ID token, asked or not. No preset is needed
  /// for it, so it is known by its endpoints. It is the issuer itself that such a token is from: what it says of its own
  /// clients is believed.
  private var namesProjects: Bool {
    guard let token = endpoints.token, let userinfo = endpoints.userinfo else { return false }
    return token.hasSuffix("/oauth/v2/token") && userinfo.hasSuffix("/oidc/v1/userinfo")
  }

  // MARK: mix-up (RFC 9700 §4.4)

  /// Its answers say whom they are from (RFC 9207 §3).
  package var namesItselfInAnswers: Bool { metadata?.authorizationResponseIssuer == true }

  /// Two clients of one server, or two addresses of it.
  package func isSameServer(as other: Provider) -> Bool {
    isItself(other.configuration.issuer) || other.isItself(configuration.issuer)
  }

  /// True if nothing in an answer to a sign-in at this provider would show that it is `other`'s: this one could send the
  /// browser on to `other` with the sign-in's own redirect URI, and would be sent `other`'s code and the verifier.
  ///
  /// The paths of the two, or `iss` of one of them, show it.
  package func canPassOff(_ other: Provider) -> Bool {
    let (mine, its) = (configuration.redirect, other.configuration.redirect)
    guard !namesItselfInAnswers, !other.namesItselfInAnswers, !isSameServer(as: other) else { return false }
    // A configured port alone shows nothing: a server that follows RFC 8252 §7.3 takes another one.
    if other.preset?.comparesRedirectPort == true, let port = its.port, mine.port != port { return false }
    return mine.path == its.path
  }
}
