internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import JSONRPC
internal import Secrets

/// Asks where a provider tells rights beside its tokens: userinfo (OpenID Connect Core §5.3) and the entitlements'
/// address. One GET each with the access token, no redirects, so that the token goes nowhere else.
extension ProviderClient {
  /// Somebody waits for it, or nobody does: long enough for a slow directory.
  private static let rightsTimeout = Milliseconds.seconds(10)
  /// The 1024 names of a snapshot, each as long as it may be.
  private static let rightsBytes = 1 << 20

  /// Of this person, or nothing: userinfo whose subject is another must not be used (§5.3.2).
  func userInfoRights(_ accessToken: Secret, subject: String) async throws(AgentFailure) -> (RightsUpdate, BootInstant)
  {
    guard let url = provider.endpoints.userinfo else { throw .rightsRefused("noUserInfo") }
    let rule = provider.rightsRule
    let (answer, sentAt) = try await rightsDocument(url, accessToken)
    let told = RecordCoding.read(answer) { node -> RightsUpdate? in
      guard node.kind == .object, !node.hasDuplicateKeys, node["sub"].map({ $0.string == subject }) ?? true else {
        return nil
      }
      return rule.told(userInfo: RightsClaims(node, rolesClaim: rule.rolesClaim), source: .refresh)
    }
    guard let told else { throw .rightsRefused("userInfoMalformed") }
    return (told, sentAt)
  }

  func entitlements(_ accessToken: Secret, subject: String) async throws(AgentFailure) -> (RightsUpdate, BootInstant) {
    guard let url = provider.configuration.authorization.entitlementsURL else {
      throw .rightsRefused("noEntitlementsUrl")
    }
    let (answer, sentAt) = try await rightsDocument(url, accessToken)
    guard let document = RecordCoding.read(answer, { EntitlementsDocument($0) }),
      document.subject == nil || document.subject == subject
    else { throw .rightsRefused("entitlementsMalformed") }
    return (provider.rightsRule.told(document), sentAt)
  }

  /// The body of a 200 that is JSON.
  private func rightsDocument(_ url: String, _ accessToken: Secret) async throws(AgentFailure) -> (Secret, BootInstant)
  {
    guard let parsed = HTTPURL(url), parsed.scheme == .https || parsed.isLoopback else {
      throw .rightsRefused("invalidURL")
    }
    var request = request(
      "GET", url, fields: [HTTPField("Accept", "application/json"), .bearer(accessToken)], body: nil)
    request.timeout = Self.rightsTimeout
    request.maximumResponseBytes = Self.rightsBytes
    switch await send(request) {
    case .response(let response) where response.status == 200:
      let body = response.body.withoutByteOrderMark
      // A page for people comes of a captive portal, or of a proxy in trouble.
      guard RecordCoding.read(body, { $0.kind }) != nil else { throw .rightsUnavailable("notJSON") }
      return (body, response.sentAt)
    case .response(let response): throw refusal(response)
    case .notConnected(let failure): throw .rightsOffline(failure.rawValue)
    case .untrusted: throw .rightsUntrusted
    case .unknown(.tooLarge): throw .rightsRefused("tooLarge")
    case .unknown(let lost): throw .rightsUnavailable(lost.rawValue)
    }
  }

  /// A redirect is somebody else on the way; other refusals are for an administrator to look at.
  private func refusal(_ response: HTTPResponse) -> AgentFailure {
    let reason = "status\(response.status)"
    switch response.status {
    case 408, 425, 429, 300..<400, 500...:
      let pause = TokenEndpointRefusal(response, now: environment.clock.wall()).retryAfter
      return .rightsUnavailable(reason, retryAfter: pause.map { min($0, FailureClassifier.longestPause) })
    default: return .rightsRefused(reason)
    }
  }
}

extension AgentFailure {
  fileprivate static let rightsUntrusted = AgentFailure(
    .untrustedServer,
    "The server could not be trusted: TLS failed, or no pinned key matched. Nothing was sent to it; the last snapshot is kept."
  ).with { $0.remedies = [.administrator] }

  fileprivate static func rightsOffline(_ reason: String) -> AgentFailure {
    AgentFailure(
      .offline, "There is no way to where the provider tells what the person may do. The last snapshot is kept."
    ).with {
      $0.reason = reason
      $0.remedies = [.connect]
    }
  }

  fileprivate static func rightsUnavailable(_ reason: String, retryAfter: Milliseconds? = nil) -> AgentFailure {
    AgentFailure(
      .providerUnavailable,
      "The provider could not tell what the person may do. The last snapshot is kept; try again later."
    ).with {
      $0.reason = reason
      $0.retryAfter = retryAfter
    }
  }

  fileprivate static func rightsRefused(_ reason: String) -> AgentFailure {
    AgentFailure(
      .providerMisconfigured,
      "The provider's answer does not tell what this person may do. The last snapshot is kept; mend the provider's `authorization` by `provider.update`."
    ).with {
      $0.reason = reason
      $0.remedies = [.administrator]
    }
  }
}
