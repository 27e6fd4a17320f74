package import AgentCore
package import AgentModel

/// Decides which issuers the agent accepts in documents, answers and ID tokens of a provider.
extension Provider {
  /// The issuers of its tenants, where the preset says that each has its own.
  package var pattern: IssuerPattern? {
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
  /// sign-in asked for, as a resource, in the parameter `audience` or `resource` of the authorization request, or in a
  /// scope (Dex's `audience:server:client_id:ID`, Zitadel's `urn:zitadel:iam:org:project:id:ID:aud`).
  package func trusts(audience: String, askedWith scopes: [String]) -> Bool {
    let parameters = ["audience", "resource"].compactMap { configuration.authorizationParameters[$0] }
    return (configuration.resources + parameters).contains { equalCodePoints($0, audience) }
      || scopes.contains { Self.audience(in: $0).map { equalCodePoints($0, audience) } ?? false }
      || namesProjects
  }

  private static func audience(in scope: String) -> String? {
    for (before, after) in [("audience:server:client_id:", ""), ("urn:zitadel:iam:org:project:id:", ":aud")]
    where scope.hasPrefix(before) && scope.hasSuffix(after) && scope.utf8.count > before.utf8.count + after.utf8.count {
      return String(scope.dropFirst(before.count).dropLast(after.count))
    }
    return nil
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
  /// The paths of the two, or `iss` of one of them, show it. A server that takes every path sends the browser back to any,
  /// and some take those below their own.
  package func canPassOff(_ other: Provider) -> Bool {
    let (mine, its) = (configuration.redirect, other.configuration.redirect)
    guard !namesItselfInAnswers, !other.namesItselfInAnswers, !isSameServer(as: other) else { return false }
    // A configured port alone shows nothing: a server that follows RFC 8252 §7.3 takes another one.
    if other.preset?.comparesRedirectPort == true, let port = its.port, mine.port != port { return false }
    if other.takesAnyRedirectPath, !isKnownByHost { return true }
    return its.covers(mine)
  }

  /// What keeps `other`'s answers apart from this provider's.
  package func remedy(forPassingOff other: Provider) -> RedirectRemedy {
    var own = configuration.redirect
    own.path = ProviderConfiguration.Redirect.ownPath(of: configuration.name)
    if other.takesAnyRedirectPath && !isKnownByHost || other.configuration.redirect.covers(own) { return .noRedirect }
    return registration == nil ? .redirect(own) : .newRegistration
  }

  /// Also without its preset.
  private var takesAnyRedirectPath: Bool {
    preset?.takesAnyRedirectPath == true || isAtHost { $0.takesAnyRedirectPath }
  }

  /// Its server is that of a preset's operator, who does not pass others' answers off as its own.
  private var isKnownByHost: Bool { isAtHost { _ in true } }

  private func isAtHost(of isMeant: (ProviderPreset) -> Bool) -> Bool {
    guard let host = HTTPURL(configuration.issuer)?.host.lowercased() else { return false }
    return ProviderPreset.all.contains { isMeant($0) && $0.isKnown(by: host) }
  }
}

/// How a sign-in gets a redirect URI to which no other provider's answers come.
package enum RedirectRemedy: Sendable {
  case redirect(ProviderConfiguration.Redirect)
  /// The agent registered the client with its redirect URI, and does so again with another one.
  case newRegistration
  /// No redirect URI does: the other server takes each.
  case noRedirect
}

extension ProviderConfiguration.Redirect {
  /// A server that compares paths by their beginning takes the other one, too.
  fileprivate func covers(_ other: Self) -> Bool {
    path == other.path || other.path.hasPrefix(path.hasSuffix("/") ? path : path + "/")
  }
}
