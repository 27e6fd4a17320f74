internal import AgentOAuth
internal import AgentRecords
package import Secrets

/// A raw answer, and whose it is: the account may be forgotten before it is judged.
package struct ReceivedAnswer: Sendable {
  package var body: Secret
  var origin: TokenOrigin

  var refreshToken: Secret? { TokenResponse(body: body)?.refreshToken }
}
