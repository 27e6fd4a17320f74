internal import AgentCore
internal import CommandSupport
internal import MCPBridge
internal import StreamingHTTP

/// What was tried for one request.
struct AuthorizationAttempt {
  var hasRejected = false
  var nonce: String?
}

/// Finds the account of the server, its token, and what to do when the server refuses it.
final class Authorizer: Sendable {
  let client: HTTPClient

  init(_ options: Options) {
    var settings = HTTPClientSettings(environment: Environment.value)
    if let file = options.authorityFile {
      settings.authorityFile = file
      settings.authorityDirectory = nil
    }
    settings.proxy = options.proxy
    client = HTTPClient(settings)
  }

  func credential(for outgoing: Outgoing, _ attempt: inout AuthorizationAttempt) throws(BridgeFailure) -> Credential? {
    nil
  }

  func mayRepeat(
    _ outgoing: Outgoing, after head: ReceivedHead, _ credential: Credential?, _ attempt: inout AuthorizationAttempt
  ) throws(BridgeFailure) -> Bool {
    false
  }
}
