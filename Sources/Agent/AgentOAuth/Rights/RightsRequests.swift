package import AgentCore
package import AgentModel
internal import AgentPorts
internal import JSONRPC
package import Secrets

/// Asks where a provider tells rights beside its tokens: userinfo (OpenID Connect Core §5.3) and the entitlements'
/// address. One GET each with the access token, which goes to no other origin.
package struct RightsRequests: Sendable {
  /// Long enough for a slow directory, whether or not a caller waits.
  private static let rightsTimeout = Milliseconds.seconds(10)
  /// The 1024 names of a snapshot, each as long as it may be.
  private static let rightsBytes = 1 << 20

  private let client: ProviderClient
  /// Where the keys are kept that verify signed answers.
  private let keySets: KeySets?
  private var provider: Provider { client.provider }

  package init(by client: ProviderClient, keySets: KeySets?) { (self.client, self.keySets) = (client, keySets) }

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
    let documents = client.documents
    let request = documents.userInfoRequest(url, atMost: Self.rightsBytes, timeout: Self.rightsTimeout)
    let (answer, sentAt) = try await rightsDocument(request, accessToken)
    let claims: Secret
    do throws(UserInfoFailure) {
      claims = try await documents.userInfoClaims(answer, keySets)
    } catch {
      guard error.isTemporary else { throw .refused(error.reason) }
      throw .unavailable(error.reason)
    }
    // A page for people comes of a captive portal, or of a proxy in trouble.
    guard ProviderJSON.read(claims, { $0.kind }) != nil else { throw .unavailable("notJSON") }
    let told = ProviderJSON.read(claims, duplicateKeys: .refused) { node in node.kind == .object ? read(node) : nil }
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
      case .malformed, .page, .issuerMismatch: throw .refused("introspectionMalformed")
      case .redirected: throw .refused("introspectionRefused")
      case .offline(let failure): throw .offline(failure)
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
    var request = client.request("GET", url, fields: [HTTPField("Accept", "application/json")], body: nil)
    (request.timeout, request.maximumResponseBytes) = (Self.rightsTimeout, Self.rightsBytes)
    let (answer, sentAt) = try await rightsDocument(request, accessToken)
    guard ProviderJSON.read(answer, { $0.kind }) != nil else { throw .unavailable("notJSON") }
    guard let document = ProviderJSON.read(answer, duplicateKeys: .refused, { EntitlementsDocument($0) }),
      document.subject.map({ equalCodePoints($0, subject) }) ?? true
    else { throw .refused("entitlementsMalformed") }
    return (provider.rightsRule.rightsUpdate(document), sentAt)
  }

  /// The body of a success.
  private func rightsDocument(
    _ request: HTTPRequest, _ accessToken: AccessCredential
  ) async throws(RightsFailure) -> (Secret, BootInstant) {
    guard let url = HTTPURL(request.url), url.scheme == .https || url.isLoopback else { throw .refused("invalidURL") }
    switch await client.documents.fetch(request, authorizedBy: accessToken) {
    case .outcome(.response(let response)) where response.isDocument: return (response.body, response.sentAt)
    case .outcome(.response(let response)): throw refusal(response)
    case .outcome(.notConnected(let failure)): throw .offline(failure)
    case .outcome(.untrusted(let reason)): throw .untrusted(reason)
    case .outcome(.unknown(.tooLarge, _)): throw .refused("tooLarge")
    case .outcome(.unknown(let lost, _)): throw .unavailable(lost.rawValue)
    case .redirected(let status, let origin): throw .redirected(status: status, to: origin)
    }
  }

  /// An administrator has to look at refusals that do not pass.
  private func refusal(_ response: HTTPResponse) -> RightsFailure {
    let reason = "status\(response.status)"
    switch response.status {
    case 408, 425, 429, 500...:
      let pause = TokenEndpointRefusal(response, now: client.now).retryAfter
      return .unavailable(reason, retryAfter: pause.map { min($0, FailureClassifier.longestPause) })
    default: return .refused(reason)
    }
  }
}
