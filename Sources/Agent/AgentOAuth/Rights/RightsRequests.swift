package import AgentCore
package import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// Asks where a provider tells rights beside its tokens: userinfo (OpenID Connect Core §5.3) and the entitlements'
/// address. One GET each with the access token, no redirects, so that the token goes nowhere else.
package struct RightsRequests: Sendable {
  /// Long enough for a slow directory, whether or not a caller waits.
  private static let rightsTimeout = Milliseconds.seconds(10)
  /// The 1024 names of a snapshot, each as long as it may be.
  private static let rightsBytes = 1 << 20

  private let client: ProviderClient
  private var provider: Provider { client.provider }

  package init(by client: ProviderClient) { self.client = client }

  /// Of this person, or nothing: userinfo whose subject is another must not be used (§5.3.2).
  package func userInfoRights(_ accessToken: AccessCredential, subject: String) async throws(RightsFailure) -> (
    RightsUpdate, BootInstant
  ) {
    let rule = provider.rightsRule
    let (told, sentAt) = try await userInfo(accessToken) { node -> RightsUpdate? in
      guard node.names(subject, by: provider.preset) else { return nil }
      return rule.rightsUpdate(userInfo: RightsClaims(node, rolesClaim: rule.rolesClaim), source: .refresh)
    }
    return (told, sentAt)
  }

  /// Shows that the provider accepts the token now: the answer has to name the person, since some providers answer 200
  /// with an error. Returns the rights that it lists.
  package func confirmByUserInfo(_ accessToken: AccessCredential, subject: String) async throws(RightsFailure) -> (
    RightsClaims, BootInstant
  ) {
    let rolesClaim = provider.rightsRule.rolesClaim
    return try await userInfo(accessToken) { node -> RightsClaims? in
      node.names(subject, by: provider.preset) ? RightsClaims(node, rolesClaim: rolesClaim) : nil
    }
  }

  private func userInfo<Told>(
    _ accessToken: AccessCredential, _ read: (JSONNode) -> Told?
  ) async throws(RightsFailure) -> (Told, BootInstant) {
    guard let url = provider.endpoints.userinfo else { throw .refused("noUserInfo") }
    let (answer, sentAt) = try await rightsDocument(url, accessToken)
    let told = SecretJSON.read(answer) { node in node.kind == .object ? read(node) : nil }
    guard let told else { throw .refused("userInfoMalformed") }
    return (told, sentAt)
  }

  /// Shows by the provider's word that the token is active, and this person's (RFC 7662 §2.2).
  package func confirmByIntrospection(
    _ accessToken: Secret, subject: String
  ) async throws(RightsFailure) -> BootInstant {
    guard let url = provider.endpoints.introspection else { throw .refused("noIntrospection") }
    let sentAt = client.clock.boot()
    let isActive: Bool
    do throws(DocumentFailure) {
      isActive = try await client.documents.introspect(accessToken, at: url) { node -> Bool? in
        guard let isActive = node["active"]?.bool else { return nil }
        return isActive && (node["sub"].map { equalCodePoints($0.string, subject) } ?? true)
      }
    } catch {
      switch error {
      case .malformed, .issuerMismatch: throw .refused("introspectionMalformed")
      case .offline: throw .offline("introspection")
      case .untrusted(let failure): throw .untrusted(failure)
      case .unavailable:
        if error.isTemporary { throw .unavailable("introspection") }
        throw .refused("introspectionRefused")
      }
    }
    guard isActive else { throw .refused("inactive") }
    return sentAt
  }

  package func entitlements(_ accessToken: AccessCredential, subject: String) async throws(RightsFailure) -> (
    RightsUpdate, BootInstant
  ) {
    guard let url = provider.configuration.authorization.entitlementsURL else {
      throw .refused("noEntitlementsUrl")
    }
    let (answer, sentAt) = try await rightsDocument(url, accessToken)
    guard let document = SecretJSON.read(answer, { EntitlementsDocument($0) }),
      document.subject.map({ equalCodePoints($0, subject) }) ?? true
    else { throw .refused("entitlementsMalformed") }
    return (provider.rightsRule.rightsUpdate(document), sentAt)
  }

  /// The body of a 200 that is JSON.
  private func rightsDocument(
    _ url: String, _ accessToken: AccessCredential
  ) async throws(RightsFailure) -> (Secret, BootInstant) {
    guard let parsed = HTTPURL(url), parsed.scheme == .https || parsed.isLoopback else {
      throw .refused("invalidURL")
    }
    var request = client.request(
      "GET", url, fields: [HTTPField("Accept", "application/json")], body: nil)
    request.timeout = Self.rightsTimeout
    request.maximumResponseBytes = Self.rightsBytes
    switch await client.send(request, authorizedBy: accessToken) {
    case .response(let response) where response.status == 200:
      let body = response.body.withoutPreface
      // A page for people comes of a captive portal, or of a proxy in trouble.
      guard SecretJSON.read(body, duplicateKeys: .allowed, { $0.kind }) != nil else { throw .unavailable("notJSON") }
      return (body, response.sentAt)
    case .response(let response): throw refusal(response)
    case .notConnected(let failure): throw .offline(failure.rawValue)
    case .untrusted(let reason): throw .untrusted(reason)
    case .unknown(.tooLarge, _): throw .refused("tooLarge")
    case .unknown(let lost, _): throw .unavailable(lost.rawValue)
    }
  }

  /// A redirect comes from an intermediary, such as a portal; other refusals are for an administrator to look at.
  private func refusal(_ response: HTTPResponse) -> RightsFailure {
    let reason = "status\(response.status)"
    switch response.status {
    case 408, 425, 429, 300..<400, 500...:
      let pause = TokenEndpointRefusal(response, now: client.now).retryAfter
      return .unavailable(reason, retryAfter: pause.map { min($0, FailureClassifier.longestPause) })
    default: return .refused(reason)
    }
  }
}
