internal import AgentModel
package import AgentOAuth
internal import JSONRPC
internal import SecretJSON
internal import Secrets

/// Whose refresh an answer is. Kept beside the answer until its exchange ends, since the account may be forgotten and
/// its provider removed by then.
package struct TokenOrigin: Sendable {
  var account: AccountID
  var identity: Identity
  /// The provider that the request was sent to.
  var provider: Provider?
}

extension TokenOrigin {
  package init(_ profile: AccountProfile, _ provider: Provider?) {
    self.init(account: profile.id, identity: profile.identity, provider: provider)
  }

  func write(to writer: inout JSONWriter) {
    writer.member("account", account.text)
    writer.member("issuer", identity.issuer)
    writer.member("tenant", identity.tenant)
    writer.member("subject", identity.subject)
    writer.member("sender", provider?.forRevocation.record)
  }

  init?(_ node: JSONNode) {
    guard let account = node["account"]?.string.flatMap({ AccountID($0) }), let issuer = node["issuer"]?.string,
      let subject = node["subject"]?.string
    else { return nil }
    self.account = account
    identity = Identity(issuer: issuer, tenant: node["tenant"]?.string, subject: subject)
    provider = node["sender"]?.secret.flatMap { Provider($0) }
  }
}
