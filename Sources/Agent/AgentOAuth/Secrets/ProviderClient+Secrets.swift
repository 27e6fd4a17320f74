package import AgentCore
internal import AgentModel
internal import AgentPorts
internal import JSONRPC
package import Secrets

/// The requests about a secret that a person was given (docs/secrets.md).
extension ProviderClient {
  /// The answer of `whoami`.
  package enum SecretAnswer: Sendable {
    case confirmed(SecretOwner)
    /// The provider does not stand by the secret.
    case refused
    /// The answer names no person, as some servers answer for a secret that they do not know.
    case unnamed
    case failed(ExchangeFailure)
  }

  /// The word for an answer by which no person is known.
  package static let noSubject = "noSubject"

  /// Asks whose a secret is. Nothing but 200 says something of the person, and nothing but 401 and 403 refuses the secret.
  package func whoami(_ secret: Secret, username: String?) async -> SecretAnswer {
    guard let settings = provider.configuration.secret, let whoami = settings.whoami else { return .refused }
    let request = request("GET", whoami.url, fields: [HTTPField("Accept", "application/json")], body: nil)
    let credential = AccessCredential(secret, boundTo: nil, at: settings.placement.of(username: username))
    switch await documents.fetch(request, authorizedBy: credential) {
    case .outcome(.response(let response)):
      recordTime(response)
      switch response.status {
      case 200: return owner(in: response, by: whoami)
      case 401, 403: return .refused
      // The address or the method is wrong, which time does not mend.
      case 400, 402, 404...407, 410...424: return .failed(.misconfigured("status\(response.status)"))
      default:
        let pause = TokenEndpointRefusal(response, now: now).retryAfter.map { min($0, FailureClassifier.longestPause) }
        return .failed(.transient("status\(response.status)", retryAfter: pause))
      }
    case .outcome(.notConnected(let failure)): return .failed(.offline(failure))
    case .outcome(.untrusted(let reason)): return .failed(.untrustedServer(reason))
    // Nothing rotates, so that a lost answer leaves nothing in doubt.
    case .outcome(.unknown(let lost, _)): return .failed(.transient(lost.rawValue, retryAfter: nil))
    case .redirected(let status, _): return .failed(.transient("status\(status)", retryAfter: nil))
    }
  }

  /// What is neither an object nor a list is of a portal or a proxy, and says nothing of the secret. A subject that is there
  /// and can't be believed does not refuse the secret either.
  private func owner(in response: HTTPResponse, by whoami: SecretSettings.WhoAmI) -> SecretAnswer {
    let answer = ProviderJSON.read(response.body) { answer -> SecretAnswer? in
      guard answer.kind == .object || answer.kind == .array else { return nil }
      if let owner = SecretOwner(answer, by: whoami, sentAt: response.sentAt) { return .confirmed(owner) }
      let isNamed = answer.hasDuplicateKeys || answer[pointer: whoami.subject]?.writtenText?.isEmpty == false
      return isNamed ? .failed(.misconfigured(Self.noSubject)) : .unnamed
    }
    return answer ?? .failed(.transient(FailureClassifier.notAnOAuthAnswer, retryAfter: nil))
  }

  /// Ends a secret by the provider's own request.
  package func revokeSecret(_ secret: Secret, username: String?) async -> RevocationOutbox.Answer {
    guard let settings = provider.configuration.secret, let revoke = settings.revoke else { return .none }
    var request = request(revoke.method, revoke.url, fields: [HTTPField("Accept", "application/json")], body: nil)
    let template = revoke.body.flatMap { SecretTemplate($0) }
    if let body = revoke.body {
      let isJSON = body.utf8.first { $0 > 0x20 }.map { "{[".utf8.contains($0) } ?? false
      request.fields.append(HTTPField("Content-Type", isJSON ? "application/json" : FormBody.mediaType))
      request.body = template.map { Self.body($0, secret, isJSON: isJSON) } ?? Secret(text: body)
    }
    if template == nil { request.place(secret, at: settings.placement.of(username: username)) }
    return revocationAnswer(await send(request))
  }

  /// The secret as JSON or a form has it: the template's own quotation marks stay.
  private static func body(_ template: SecretTemplate, _ secret: Secret, isJSON: Bool) -> Secret {
    var body = SecretBuilder()
    body.append(template.before)
    if isJSON {
      secret.withBytes { bytes in
        var writer = JSONWriter(capacity: bytes.count * 6 + 2)
        writer.string(utf8: bytes)
        writer.withBytes { body.append(UnsafeRawBufferPointer(rebasing: $0[1..<$0.count - 1])) }
      }
    } else {
      secret.withBytes { bytes in PercentCoding.encode(bytes, form: true) { body.append($0) } }
    }
    body.append(template.after)
    return body.finish()
  }
}
