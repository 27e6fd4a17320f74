internal import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentPorts
package import AgentVault
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// Access tokens, where the provider is marked `persistAccessTokens`.
  package static let accessTokens = DeclaredKind(8, under: .token, .untilSignOut)
}

/// An issued access token, with the data of its response.
package struct AccessToken: Sendable {
  package var key: TokenKey
  package var secret: Secret
  package var tokenType: String
  /// Where a secret stands in a request; nil for a token of OAuth.
  @Rare package var placement: SecretPlacement? = nil
  /// The user name that goes with a secret, wherever it stands; nil for a token of OAuth.
  @Rare package var username: String? = nil
  /// The resource of `key`, if the answer or the token itself shows that the token is for it: a server may ignore the
  /// parameter (RFC 8707 §2).
  var confirmedResource: String?
  package var scopes: ScopeSet
  package var lifetime: Milliseconds
  /// The time before its expiry from which on it is stale.
  package var lead: Milliseconds
  /// The grant's generation when the token was issued.
  package var generation: UInt64
  /// When its request was sent: its lifetime begins then (docs/tokens.md, Health and freshness).
  var sentAt: BootInstant
  var bootID: String
  /// The moment of `sentAt` by the mark of trusted time, which is still known after a reboot (docs/offline.md, Time).
  var sentAtTime: Timestamp

  /// `expires_in` is only recommended (RFC 6749 §5.1). A wrong guess costs one 401, which the client reports.
  static let assumedLifetime = Milliseconds.seconds(3600)
  /// For a token without `expires_in` and without a refresh token, which can't be replaced: it serves until it is
  /// rejected.
  static let lifetimeUntilRejected = Milliseconds.seconds(365 * 86_400)

  /// Nil if the response has no usable access token.
  ///
  /// - Parameters:
  ///   - isRenewable: another one follows it; nil: if the grant has a refresh token.
  ///   - highWater: the mark of trusted time.
  package init?(
    _ response: TokenResponse, for key: TokenKey, of grant: GrantRecord, isRenewable: Bool? = nil, sentAt: BootInstant,
    clock: any AgentClock, highWater: Timestamp
  ) {
    guard let secret = response.accessToken else { return nil }
    let isLast = !(isRenewable ?? (grant.refreshToken != nil))
    self.key = key
    self.secret = secret
    tokenType = response.tokenType
    confirmedResource = key.resource.flatMap { response.isFor($0) ? $0 : nil }
    scopes = .granted(response.scope, orAsked: key.scopes ?? grant.scopes)
    lifetime = response.expiresIn ?? (isLast ? Self.lifetimeUntilRejected : Self.assumedLifetime)
    // A token that can't be refreshed is never stale; a refresh token that ends before the access token has to be used
    // before its end.
    let end = min(lifetime, response.refreshTokenLifetime?.end ?? lifetime)
    lead = isLast ? .zero : lifetime - end + LeadTime.of(lifetime: end, refreshIn: response.refreshIn)
    generation = grant.generation
    self.sentAt = sentAt
    bootID = clock.bootID
    sentAtTime = highWater + (sentAt - clock.boot())
  }

  /// A secret that a person was given, for one account. `endsIn`: until its end; nil: no end is known.
  package init(
    secret: Secret, placedAt placement: SecretPlacement, username: String?, generation: UInt64, endsIn: Milliseconds?,
    clock: any AgentClock, highWater: Timestamp
  ) {
    key = .standard
    self.secret = secret
    tokenType = Self.secretType
    scopes = ScopeSet([])
    lifetime = endsIn ?? Self.lifetimeUntilRejected
    // Of one without an end, the end that is told moves on before it comes.
    lead = endsIn == nil ? Milliseconds(lifetime.count / 2) : .zero
    self.generation = generation
    sentAt = clock.boot()
    bootID = clock.bootID
    sentAtTime = highWater
    (self.placement, self.username) = (placement, username)
  }

  /// The `tokenType` of a secret.
  static let secretType = "secret"

  /// It is bound to the key of its grant (RFC 9449 §5).
  package var isBound: Bool { tokenType.lowercased() == "dpop" }

  /// When its request was sent, on this boot's clock. After a reboot at least this boot's time has passed.
  package func sentAt(on clock: any AgentClock, highWater: Timestamp) -> BootInstant {
    guard bootID != clock.bootID else { return sentAt }
    let boot = clock.boot()
    return boot + (.zero - max(highWater - sentAtTime, Milliseconds(boot.milliseconds)))
  }
}

/// The access tokens of an account whose provider is marked `persistAccessTokens` (docs/tokens.md, Scopes and
/// audiences); all others are in memory only. Sealed under the account's token key, deleted at its sign-out.
package struct AccessTokens: Sendable {
  package var all: [AccessToken]

  var record: Secret {
    SecretJSON.write { writer in
      writer.key("tokens")
      writer.beginArray()
      for token in all { token.write(to: &writer) }
      writer.endArray()
    }
  }

  package init(_ all: [AccessToken]) { self.all = all }

  /// Sets the generation, which a sign-in learns only when it is admitted.
  mutating func belong(to generation: UInt64) {
    for index in all.indices { all[index].generation = generation }
  }

  init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node in
      node["tokens"].map { tokens in AccessTokens(tokens.elements.compactMap { AccessToken($0) }) }
    }
    guard let read else { return nil }
    self = read
  }
}

extension AccessToken {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("resource", key.resource)
    if let scopes = key.scopes { writer.member("asked", scopes.names) }
    writer.member("accessToken", secret)
    writer.member("tokenType", tokenType)
    writer.member("confirmedResource", confirmedResource)
    writer.member("scopes", scopes.names)
    if scopes.lacksSome { writer.member("lacksScopes", 1) }
    writer.member("lifetime", lifetime.count)
    writer.member("lead", lead.count)
    writer.member("generation", Int64(generation))
    writer.member("sentAt", sentAt.milliseconds)
    writer.member("bootID", bootID)
    writer.member("sentAtTime", sentAtTime.milliseconds)
    writer.endObject()
  }

  fileprivate init?(_ node: JSONNode) {
    guard let secret = node["accessToken"]?.secret, let tokenType = node["tokenType"]?.string,
      let lifetime = node["lifetime"]?.integer, let lead = node["lead"]?.integer,
      let generation = node["generation"]?.integer, let sentAt = node["sentAt"]?.integer,
      let bootID = node["bootID"]?.string, let sentAtTime = node["sentAtTime"]?.timestamp
    else { return nil }
    key = TokenKey(resource: node["resource"]?.string, scopes: node["asked"]?.strings.map { ScopeSet($0) })
    self.secret = secret
    self.tokenType = tokenType
    confirmedResource = node["confirmedResource"]?.string
    scopes = ScopeSet(node["scopes"]?.strings ?? [], lacksSome: node["lacksScopes"] != nil)
    self.lifetime = Milliseconds(lifetime)
    self.lead = Milliseconds(lead)
    self.generation = UInt64(clamping: generation)
    self.sentAt = BootInstant(milliseconds: sentAt)
    self.bootID = bootID
    self.sentAtTime = sentAtTime
  }
}
