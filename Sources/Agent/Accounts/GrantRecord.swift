internal import AgentCore
internal import AgentModel
internal import JSONRPC
internal import Secrets

/// The durable part of a grant: the refresh token and what is known of it.
struct GrantRecord: Sendable {
  /// Nil where the provider gave none.
  var refreshToken: Secret?
  /// Counts the exchanges that were committed.
  var generation: UInt64
  var health: TokenMachine.Health
  /// Granted scopes, which may be fewer than were asked for (RFC 6749 §3.3).
  var scopes: ScopeSet
  var roles: [String]
  var refreshTokenExpiresAt: Timestamp?

  var record: Secret {
    RecordCoding.write { writer in
      writer.member("refreshToken", refreshToken)
      writer.member("generation", Int64(generation))
      let (word, detail) = health.words
      writer.member("health", word)
      writer.member("healthDetail", detail)
      writer.member("scopes", scopes.names)
      writer.member("roles", roles)
      writer.member("refreshTokenExpiresAt", refreshTokenExpiresAt?.milliseconds)
    }
  }

  init(
    refreshToken: Secret?, generation: UInt64, health: TokenMachine.Health, scopes: ScopeSet, roles: [String],
    refreshTokenExpiresAt: Timestamp?
  ) {
    self.refreshToken = refreshToken
    self.generation = generation
    self.health = health
    self.scopes = scopes
    self.roles = roles
    self.refreshTokenExpiresAt = refreshTokenExpiresAt
  }

  init?(_ plain: Secret) {
    let read = RecordCoding.read(plain) { node -> GrantRecord? in
      guard let generation = node["generation"]?.integer, let word = node["health"]?.string,
        let health = TokenMachine.Health(word: word, detail: node["healthDetail"]?.string)
      else { return nil }
      return GrantRecord(
        refreshToken: node["refreshToken"]?.secret, generation: UInt64(clamping: generation), health: health,
        scopes: ScopeSet(node["scopes"]?.strings ?? []), roles: node["roles"]?.strings ?? [],
        refreshTokenExpiresAt: node["refreshTokenExpiresAt"]?.timestamp)
    }
    guard let read else { return nil }
    self = read
  }
}

extension TokenMachine.Health {
  var words: (String, String?) {
    switch self {
    case .ok: ("ok", nil)
    case .unknown: ("unknown", nil)
    case .reauthenticate(let reason): ("reauthenticate", reason)
    case .locked: ("locked", nil)
    case .misconfigured(let error): ("misconfigured", error)
    case .signedOut: ("signedOut", nil)
    }
  }

  init?(word: String, detail: String?) {
    switch word {
    case "ok": self = .ok
    case "unknown": self = .unknown
    case "reauthenticate": self = .reauthenticate(reason: detail ?? "refused")
    case "locked": self = .locked
    case "misconfigured": self = .misconfigured(detail ?? "unknown")
    case "signedOut": self = .signedOut
    default: return nil
    }
  }
}

/// What is durable before a refresh token leaves this machine (DESIGN, Tokens: Journal, 1).
struct ExchangeIntent: Sendable, Hashable {
  var attempt: UInt64
  var epoch: UInt64
  var generation: UInt64
  /// Of the refresh token that is about to be sent.
  var fingerprint: String
  var wall: Timestamp
  var bootID: String
  var boot: BootInstant
  var key: TokenKey
  var isReplay: Bool

  var record: Secret {
    RecordCoding.write { writer in
      writer.member("attempt", Int64(attempt))
      writer.member("epoch", Int64(epoch))
      writer.member("generation", Int64(generation))
      writer.member("fingerprint", fingerprint)
      writer.member("wall", wall.milliseconds)
      writer.member("bootID", bootID)
      writer.member("boot", boot.milliseconds)
      writer.member("resource", key.resource)
      if let scopes = key.scopes { writer.member("scopes", scopes.names) }
      writer.key("isReplay")
      writer.bool(isReplay)
    }
  }

  init(
    attempt: UInt64, epoch: UInt64, generation: UInt64, fingerprint: String, wall: Timestamp, bootID: String,
    boot: BootInstant, key: TokenKey, isReplay: Bool
  ) {
    self.attempt = attempt
    self.epoch = epoch
    self.generation = generation
    self.fingerprint = fingerprint
    self.wall = wall
    self.bootID = bootID
    self.boot = boot
    self.key = key
    self.isReplay = isReplay
  }

  init?(_ plain: Secret) {
    let read = RecordCoding.read(plain) { node -> ExchangeIntent? in
      guard let attempt = node["attempt"]?.integer, let epoch = node["epoch"]?.integer,
        let generation = node["generation"]?.integer, let fingerprint = node["fingerprint"]?.string,
        let wall = node["wall"]?.timestamp, let bootID = node["bootID"]?.string, let boot = node["boot"]?.integer
      else { return nil }
      return ExchangeIntent(
        attempt: UInt64(clamping: attempt), epoch: UInt64(clamping: epoch), generation: UInt64(clamping: generation),
        fingerprint: fingerprint, wall: wall, bootID: bootID, boot: BootInstant(milliseconds: boot),
        key: TokenKey(resource: node["resource"]?.string, scopes: node["scopes"]?.strings.map { ScopeSet($0) }),
        isReplay: node["isReplay"]?.bool ?? false)
    }
    guard let read else { return nil }
    self = read
  }
}
