package import AgentCore
package import AgentModel
internal import AgentPorts
package import Secrets

/// The device flow's two requests (RFC 8628).
extension ProviderClient {
  package enum DeviceBeginning: Sendable {
    case begun(DeviceAuthorization, sentAt: BootInstant)
    /// A success, and nothing that a person could follow.
    case unreadable
    case failed(ExchangeFailure)
  }

  /// RFC 8628 §3.1.
  package func authorizeDevice(
    at endpoint: String, scopes: [String], details: AuthorizationDetails? = nil
  ) async -> DeviceBeginning {
    var form = FormBody.deviceAuthorization(scopes: scopes, details: details, at: provider.configuration)
    guard let fields = authenticate(&form, at: endpoint, naming: true) else { return .failed(.unsigned) }
    switch await send(request("POST", endpoint, fields: fields, body: form.finish())) {
    case .response(let response) where (200...299).contains(response.status):
      recordTime(response)
      if let begun = DeviceAuthorization(body: response.body) { return .begun(begun, sentAt: response.sentAt) }
      // `error` with 200, as GitHub answers.
      let refusal = TokenEndpointRefusal(response, now: now)
      return refusal.error == nil ? .unreadable : .failed(meaning(of: refusal))
    case .response(let response):
      return .failed(meaning(of: TokenEndpointRefusal(response, now: now)))
    case .notConnected(let failure): return .failed(.offline(failure))
    case .untrusted(let reason): return .failed(.untrustedServer(reason))
    // Nothing was given that could be lost: the provider forgets the code by itself.
    case .unknown: return .failed(.transient("noAnswer", retryAfter: nil))
    }
  }

  package enum DeviceAnswer: Sendable {
    case answered(body: Secret, sentAt: BootInstant)
    case told(DevicePolling.Answer)
  }

  /// Asks once whether the person has agreed (RFC 8628 §3.4).
  package func ask(about deviceCode: Secret, boundTo device: DeviceKey? = nil) async -> DeviceAnswer {
    var form = FormBody()
    form.append("grant_type", "urn:ietf:params:oauth:grant-type:device_code")
    form.append("device_code", deviceCode)
    if let resource = provider.configuration.standardResource { form.append("resource", resource) }  // RFC 8707 §2.2
    let outcome = await exchange(form, boundTo: device)
    if case .response(let response) = outcome, TokenResponseClassifier.sort(response) == .refusal,
      let error = TokenEndpointRefusal(response, now: now).error,
      let answer = DevicePolling.Answer(error: error)
    {
      return .told(answer)
    }
    switch judge(outcome, isBound: device != nil) {
    case .answered(let body, let sentAt): return .answered(body: body, sentAt: sentAt)
    case .failed(let failure): return .told(.failed(failure))
    }
  }
}
