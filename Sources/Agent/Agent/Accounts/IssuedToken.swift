internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// An access token in memory.
@dynamicMemberLookup
struct IssuedToken: Sendable {
  var issued: AccessToken
  var facts: TokenMachine.TokenFacts

  subscript<Value>(dynamicMember path: KeyPath<AccessToken, Value>) -> Value { issued[keyPath: path] }
  var resource: String? { issued.key.resource }

  /// For the wire only: lifetimes run on the boot clock, and clients compare with the wall clock as it is now.
  func expiresAt(on clock: any AgentClock) -> Timestamp { clock.wall() + (facts.expiresAt - clock.boot()) }
}

/// What a caller of `token.get` is told.
struct TokenAnswer: Sendable {
  var token: IssuedToken
  var account: AccountID
  var issuer: String
  var source: TokenMachine.Source
  var expiresAt: Timestamp
  var expiresInSeconds: Int64
}

/// What `session.get` tells. Instants are those of the wall clock, which is the one that clients compare them with.
struct SessionFacts: Sendable {
  var profile: AccountProfile
  var time: ProviderTime
  var state: AccountState
  /// When that state began; nil if nobody knows any more.
  var since: Timestamp?
  var remedies: [Remedy]
  var freshness: TokenMachine.Freshness
  var accessTokenExpiresAt: Timestamp?
  var refreshTokenExpiresAt: Timestamp?
  var lastOnlineAuthAt: Timestamp?
  /// The end of the longest offline window of its policy.
  var offlineGraceUntil: Timestamp?
  var scopes: ScopeSet
  var roles: [String]
  var phase: RefreshPhase
  var attempts: Int
  var nextAttemptAt: Timestamp?
  var lastError: LastFailure?
  var generation: UInt64
}

/// Names a token without telling it: what a client sends back to `token.reject`, what the journal keeps.
enum Fingerprint {
  /// 96 bits: nobody can find a token by it, and two tokens of one account never share it.
  static func of(_ secret: Secret) -> String {
    secret.withBytes { Base64URL.encode(sha256($0).prefix(12)) }
  }
}
