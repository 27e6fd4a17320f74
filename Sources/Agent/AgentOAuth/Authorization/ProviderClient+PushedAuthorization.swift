package import AgentCore
internal import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import SecretJSON
internal import Secrets

/// Pushed authorization requests (RFC 9126): the agent sends the parameters to the provider itself, and the browser
/// carries only a reference to them.
extension ProviderClient {
  package enum PushAnswer: Sendable {
    case pushed(requestURI: String)
    /// The endpoint that the provider names does not exist, by its own word.
    case notThere
    /// The provider does not take this request; the word of RFC 6749 §4.1.2.1, if it was one.
    case refused(error: String?)
    case failed(ExchangeFailure)
  }

  /// RFC 9126 §2.1. Nothing is given that could be lost: an answer that does not come costs nothing.
  /// The proof by a `device` binds the code to the key, as `dpop_jkt` does (RFC 9449 §10.1); some providers want both.
  package func push(
    _ parameters: [(String, String)], to endpoint: String, boundTo device: DeviceKey? = nil
  ) async -> PushAnswer {
    guard canAuthenticate else { return .failed(.unsigned) }
    switch await send(FormBody.pushedAuthorization(parameters).finish(), to: endpoint, naming: true, boundTo: device) {
    case .response(let response): return read(response, isBound: device != nil)
    case .notConnected(let failure): return .failed(.offline(failure))
    case .untrusted(let reason): return .failed(.untrustedServer(reason))
    case .unknown: return .failed(.transient("noAnswer", retryAfter: nil))
    }
  }

  private func read(_ response: HTTPResponse, isBound: Bool) -> PushAnswer {
    if (200...299).contains(response.status) {
      // 201 by §2.2; some servers say 200.
      let uri = ProviderJSON.read(response.body) { node -> String? in
        guard let text = node["request_uri"]?.string, (1...Self.longestRequestURI).contains(text.utf8.count),
          text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return text
      }
      return uri.map { .pushed(requestURI: $0) }
        ?? .failed(.transient(FailureClassifier.notAnOAuthAnswer, retryAfter: nil))
    }
    let refusal = TokenEndpointRefusal(response, now: now)
    if refusal.error == nil, [404, 405, 410, 501].contains(refusal.status) { return .notThere }
    switch meaning(of: refusal, isBound: isBound) {
    // No person has signed in yet: an error that would end a session is about the request here.
    case .reauthenticate, .locked, .interaction, .unexplained: return .refused(error: refusal.error)
    case let failure: return .failed(failure)
    }
  }

  /// The browser's address contains it.
  private static let longestRequestURI = 2048
}
