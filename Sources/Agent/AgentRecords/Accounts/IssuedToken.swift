package import AgentCore
internal import AgentModel
package import AgentOAuth
package import Secrets

/// An access token in memory.
@dynamicMemberLookup
package struct IssuedToken: Sendable {
  package var issued: AccessToken
  package var facts: TokenMachine.TokenFacts
  /// The key that it is bound to; nil for a bearer token.
  package var deviceKey: DeviceKey?

  package subscript<Value>(dynamicMember path: KeyPath<AccessToken, Value>) -> Value { issued[keyPath: path] }
  /// The resource that the token was asked for, as far as the provider confirmed it.
  package var resource: String? { issued.confirmedResource }

  package var credential: AccessCredential {
    AccessCredential(issued.secret, boundTo: deviceKey, at: issued.placement ?? .bearer)
  }

  package init(issued: AccessToken, facts: TokenMachine.TokenFacts, deviceKey: DeviceKey? = nil) {
    self.issued = issued
    self.facts = facts
    self.deviceKey = deviceKey
  }
}

/// What a request needs of an access token.
package struct RequestToken: Sendable {
  package let credential: AccessCredential
  package let fingerprint: String

  package init(_ token: IssuedToken) { (credential, fingerprint) = (token.credential, token.facts.fingerprint) }
}

/// Identifies a token without revealing it: a client sends it back to `token.reject`, and the journal keeps it.
package enum Fingerprint {
  /// 96 bits of SHA-256: the token can't be found from them, and two tokens of one account never share them.
  package static func of(_ secret: Secret) -> String {
    secret.withBytes { Base64URL.encode(sha256($0).prefix(12)) }
  }

  /// 64 bits of SHA-256, where each account has one in memory.
  package static func number(of secret: Secret) -> Int64 {
    secret.withBytes { sha256($0).prefix(8).reduce(0) { $0 << 8 | Int64($1) } }
  }
}
