package import AgentModel
package import JSONRPC
internal import SecretJSON

/// Discovery documents (OpenID Connect Discovery 1.0 §3, RFC 8414 §2), and the same members in our own records.
extension ServerMetadata {
  package init?(_ node: JSONNode) {
    guard let issuer = node["issuer"]?.string else { return nil }
    self.init(issuer: issuer)
    (endpoints, ignoredEndpoints) = Endpoints(node).reachable(from: issuer, in: node)
    // The agent's own records.
    let found = node["ignoredEndpointTexts"]?.strings ?? []
    for (index, name) in (node["ignoredEndpoints"]?.strings ?? []).enumerated() {
      let text = index < found.count ? found[index] : "its `\(name)` endpoint is no https address"
      ignoredEndpoints.append(IgnoredEndpoint(name: name, found: text))
    }
    authorizationResponseIssuer = node["authorization_response_iss_parameter_supported"]?.bool ?? false
    requiresPushedAuthorization = node["require_pushed_authorization_requests"]?.bool ?? false
    tokenEndpointAuthMethods = node["token_endpoint_auth_methods_supported"].texts ?? []
    revocationEndpointAuthMethods = node["revocation_endpoint_auth_methods_supported"].texts ?? []
    codeChallengeMethods = node["code_challenge_methods_supported"].texts ?? []
    idTokenAlgorithms = node["id_token_signing_alg_values_supported"].texts ?? []
    dpopAlgorithms = node["dpop_signing_alg_values_supported"].texts ?? []
    authorizationDetailsTypes = node["authorization_details_types_supported"].texts ?? []
    scopesSupported = node["scopes_supported"].texts.map { Self.bounded($0) }
    clientIDMetadataDocuments = node["client_id_metadata_document_supported"]?.bool ?? false
  }

  /// What a server tells has no end of its own: names of RFC 6749 §3.3, as many as the contract has.
  private static func bounded(_ scopes: [String]) -> [String] {
    Array(ScopeSet(scopes.filter { ScopeSet.isName($0) }).names.prefix(ScopeSet.mostNames))
  }

  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("issuer", issuer)
    endpoints.writeMembers(to: &writer)
    writer.key("authorization_response_iss_parameter_supported")
    writer.bool(authorizationResponseIssuer)
    writer.key("require_pushed_authorization_requests")
    writer.bool(requiresPushedAuthorization)
    writer.member("token_endpoint_auth_methods_supported", tokenEndpointAuthMethods)
    writer.member("revocation_endpoint_auth_methods_supported", revocationEndpointAuthMethods)
    writer.member("code_challenge_methods_supported", codeChallengeMethods)
    if !idTokenAlgorithms.isEmpty { writer.member("id_token_signing_alg_values_supported", idTokenAlgorithms) }
    if !dpopAlgorithms.isEmpty { writer.member("dpop_signing_alg_values_supported", dpopAlgorithms) }
    if !authorizationDetailsTypes.isEmpty {
      writer.member("authorization_details_types_supported", authorizationDetailsTypes)
    }
    if clientIDMetadataDocuments {
      writer.key("client_id_metadata_document_supported")
      writer.bool(true)
    }
    if !ignoredEndpoints.isEmpty {
      writer.member("ignoredEndpoints", ignoredEndpoints.map(\.name))
      writer.member("ignoredEndpointTexts", ignoredEndpoints.map(\.found))
    }
    writer.endObject()
  }

  /// Joins the OpenID and the RFC 8414 document: real servers list some endpoints only in the second.
  package func joined(with other: ServerMetadata?) -> ServerMetadata {
    guard let other, equalCodePoints(other.issuer, issuer) else { return self }
    var joined = self
    joined.endpoints = endpoints.completed(from: other.endpoints)
    joined.authorizationResponseIssuer = authorizationResponseIssuer || other.authorizationResponseIssuer
    joined.requiresPushedAuthorization = requiresPushedAuthorization || other.requiresPushedAuthorization
    if tokenEndpointAuthMethods.isEmpty { joined.tokenEndpointAuthMethods = other.tokenEndpointAuthMethods }
    if revocationEndpointAuthMethods.isEmpty {
      joined.revocationEndpointAuthMethods = other.revocationEndpointAuthMethods
    }
    if codeChallengeMethods.isEmpty { joined.codeChallengeMethods = other.codeChallengeMethods }
    if idTokenAlgorithms.isEmpty { joined.idTokenAlgorithms = other.idTokenAlgorithms }
    if dpopAlgorithms.isEmpty { joined.dpopAlgorithms = other.dpopAlgorithms }
    if authorizationDetailsTypes.isEmpty { joined.authorizationDetailsTypes = other.authorizationDetailsTypes }
    joined.scopesSupported = scopesSupported ?? other.scopesSupported
    joined.clientIDMetadataDocuments = clientIDMetadataDocuments || other.clientIDMetadataDocuments
    let others = other.ignoredEndpoints.filter { one in !ignoredEndpoints.contains { $0.name == one.name } }
    joined.ignoredEndpoints = joined.endpoints.missing(of: ignoredEndpoints + others).sorted { $0.name < $1.name }
    return joined
  }
}

extension ServerMetadata.Endpoints {
  /// Without those that no issuer may name: plain text, but from loopback to loopback. Some end up in a browser, and a
  /// server elsewhere has no business with what listens on this machine.
  fileprivate func reachable(from issuer: String, in document: JSONNode) -> (Self, [ServerMetadata.IgnoredEndpoint]) {
    let isLocal = HTTPURL(issuer)?.isLoopback == true
    func isGood(_ text: String) -> Bool {
      HTTPURL(text).map { $0.isLoopback ? isLocal : $0.scheme == .https } ?? false
    }
    var reachable = self
    var ignored: [ServerMetadata.IgnoredEndpoint] = []
    reachable.visit { name, member, endpoint in
      guard let node = document[member], node.kind != .null, !(endpoint.map(isGood) ?? false) else { return }
      endpoint = nil
      let value = node.string.map { "`\"\(ProviderRefusals.shown($0))\"`" } ?? node.kindForPeople
      ignored.append(.init(name: name, found: "`\(member)` is \(value)"))
    }
    return (reachable, ignored.sorted { $0.name < $1.name })
  }

  /// Those that are not here.
  func missing(of ignored: [ServerMetadata.IgnoredEndpoint]) -> [ServerMetadata.IgnoredEndpoint] {
    var (here, absent) = (self, [String]())
    here.visit { name, _, endpoint in if endpoint == nil { absent.append(name) } }
    return ignored.filter { absent.contains($0.name) }
  }

  /// Lends each endpoint, with its name in the contract and in documents. Key paths would be made anew by each start.
  private mutating func visit(_ body: (_ name: String, _ member: StaticString, inout String?) -> Void) {
    body("authorization", "authorization_endpoint", &authorization)
    body("token", "token_endpoint", &token)
    body("jwks", "jwks_uri", &jwks)
    body("userinfo", "userinfo_endpoint", &userinfo)
    body("revocation", "revocation_endpoint", &revocation)
    body("introspection", "introspection_endpoint", &introspection)
    body("deviceAuthorization", "device_authorization_endpoint", &deviceAuthorization)
    body("endSession", "end_session_endpoint", &endSession)
    body("registration", "registration_endpoint", &registration)
    body("pushedAuthorizationRequest", "pushed_authorization_request_endpoint", &pushedAuthorizationRequest)
  }

  package init(_ node: JSONNode) {
    self.init()
    authorization = node["authorization_endpoint"]?.string
    token = node["token_endpoint"]?.string
    jwks = node["jwks_uri"]?.string
    userinfo = node["userinfo_endpoint"]?.string
    revocation = node["revocation_endpoint"]?.string
    introspection = node["introspection_endpoint"]?.string
    deviceAuthorization = node["device_authorization_endpoint"]?.string
    endSession = node["end_session_endpoint"]?.string
    registration = node["registration_endpoint"]?.string
    pushedAuthorizationRequest = node["pushed_authorization_request_endpoint"]?.string
  }

  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writeMembers(to: &writer)
    writer.endObject()
  }

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("authorization_endpoint", authorization)
    writer.member("token_endpoint", token)
    writer.member("jwks_uri", jwks)
    writer.member("userinfo_endpoint", userinfo)
    writer.member("revocation_endpoint", revocation)
    writer.member("introspection_endpoint", introspection)
    writer.member("device_authorization_endpoint", deviceAuthorization)
    writer.member("end_session_endpoint", endSession)
    writer.member("registration_endpoint", registration)
    writer.member("pushed_authorization_request_endpoint", pushedAuthorizationRequest)
  }
}

extension JSONNode? {
  /// A list of texts, or the words of one text, as some servers write a list; nil for neither.
  fileprivate var texts: [String]? {
    self?.strings ?? self?.string?.split(separator: " ").map(String.init)
  }
}
