package import AgentModel
internal import AgentOAuth
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// A token that came too late for its account, which signed out or in again meanwhile.
package struct OvertakenToken: Sendable {
  var secret: Secret
  var kind: TokenTypeHint
  /// By the provider's time; nil if that is not known.
  var expiresAt: Timestamp?
  /// It belongs to an answer for another person than the account's.
  var isOfAnother = false

  package init(refreshToken secret: Secret, isOfAnother: Bool = false) {
    (self.secret, kind, self.isOfAnother) = (secret, .refreshToken, isOfAnother)
  }

  /// Of a machine, which has no refresh token that would take it along.
  package init(accessToken secret: Secret, expiresAt: Timestamp?) {
    (self.secret, kind, self.expiresAt) = (secret, .accessToken, expiresAt)
  }

  func write(to writer: inout JSONWriter) {
    writer.member("token", secret)
    if kind == .accessToken { writer.member("kind", kind.rawValue) }
    writer.member("expiresAt", expiresAt?.milliseconds)
    if isOfAnother { writer.member("isOfAnother", 1) }
  }

  init?(_ node: JSONNode) {
    guard let secret = node["token"]?.secret else { return nil }
    self.secret = secret
    kind = node["kind"]?.string.flatMap { TokenTypeHint(rawValue: $0) } ?? .refreshToken
    expiresAt = node["expiresAt"]?.timestamp
    isOfAnother = node["isOfAnother"] != nil
  }
}
