internal import AgentOAuth
internal import AgentRecords
internal import Secrets

/// A raw answer, and whose it is: the account may be forgotten before it is judged.
struct ReceivedAnswer: Sendable {
  var body: Secret
  var origin: TokenOrigin

  var refreshToken: Secret? { TokenResponse(body: body)?.refreshToken }
}
