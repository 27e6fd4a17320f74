package import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentVault
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// Tokens that must still be revoked.
  package static let outbox = DeclaredKind(18, under: .outbox, .counted)
}

/// A token that must still be revoked, with all that this takes: its account and its provider may be removed by then.
package struct OutboxEntry: Sendable {
  package var id: [UInt8]
  package var token: Secret
  /// A refresh token takes its access tokens along, unless the provider's revocation reaches one token alone.
  package var kind = TokenTypeHint.refreshToken
  /// The user name that goes with a secret.
  package var username: String?
  package var provider: ProviderName
  package var issuer: String
  package var accountLabel: String
  /// The person who granted the token: a revocation that ends all grants of this person must not follow a new sign-in.
  var identity: Identity?
  /// The provider as it was configured when the entry was made. Nil if its record did not open then.
  package var sender: Provider?
  package var createdAt: Timestamp
  /// The running time of the agent's machine then (`TrustedInstant.lived`).
  var createdLived: Milliseconds
  /// When the token expires, as far as it is known.
  var expiresAt: Timestamp
  package var attempts: Int
  /// The provider answered an attempt.
  package var isAnswered = false
  package var nextAttemptAt: Timestamp
  package var lastError: String?
  package var lastErrorAt: Timestamp?

  /// Its account is erased: it keeps a digest of the person, and the id for a label.
  mutating func erase(as identity: Identity, of account: AccountID) {
    self.identity = identity
    accountLabel = account.text
  }

  /// The entry after one more attempt, which failed.
  package func tried(because error: String, isAnswered: Bool) -> OutboxEntry {
    var tried = self
    tried.attempts += 1
    tried.lastError = error
    tried.isAnswered = self.isAnswered || isAnswered
    return tried
  }

  /// Its account was signed out offline: sent when the provider may be reachable again or the agent starts, and
  /// otherwise at this latest time.
  mutating func postpone(jitter: Double) {
    nextAttemptAt = createdAt + RevocationOutbox.postponed(jitter: jitter)
  }

  /// The end of the attempts.
  package var end: Timestamp {
    RevocationOutbox.end(
      createdAt: createdAt, expiresAt: expiresAt, isRefreshToken: kind == .refreshToken, isAnswered: isAnswered)
  }

  /// True if a failed attempt was the last one. `lived`: the running time of the machine now.
  package func isOver(at lived: Milliseconds) -> Bool {
    RevocationOutbox.isOver(after: lived - createdLived, createdAt: createdAt, end: end)
  }

  /// The entry's id on the wire.
  package var name: String { "rev_" + Base32.encode(id) }

  var record: Secret {
    SecretJSON.write { writer in
      writer.member("token", token)
      writer.member("kind", kind.rawValue)
      writer.member("username", username)
      writer.member("provider", provider.text)
      writer.member("issuer", issuer)
      writer.member("accountLabel", accountLabel)
      writer.member("tenant", identity?.tenant)
      writer.member("subject", identity?.subject)
      writer.member("sender", sender?.record)
      writer.member("createdAt", createdAt.milliseconds)
      writer.member("createdLived", createdLived.count)
      writer.member("expiresAt", expiresAt.milliseconds)
      writer.member("attempts", Int64(attempts))
      if isAnswered { writer.member("isAnswered", 1) }
      writer.member("nextAttemptAt", nextAttemptAt.milliseconds)
      writer.member("lastError", lastError)
      writer.member("lastErrorAt", lastErrorAt?.milliseconds)
    }
  }

  package init(
    id: [UInt8], token: Secret, provider: ProviderName, issuer: String, accountLabel: String, identity: Identity?,
    now: TrustedInstant, expiresAt: Timestamp
  ) {
    self.id = id
    self.token = token
    self.provider = provider
    self.issuer = issuer
    self.accountLabel = accountLabel
    self.identity = identity
    (createdAt, createdLived) = (now.time, now.lived)
    self.expiresAt = expiresAt
    attempts = 0
    nextAttemptAt = now.time
  }

  init?(_ plain: Secret, id: [UInt8]) {
    let read = SecretJSON.read(plain) { node -> OutboxEntry? in
      guard let token = node["token"]?.secret, let provider = node["provider"]?.string.flatMap({ ProviderName($0) }),
        let issuer = node["issuer"]?.string, let label = node["accountLabel"]?.string,
        let createdAt = node["createdAt"]?.timestamp, let expiresAt = node["expiresAt"]?.timestamp
      else { return nil }
      var entry = OutboxEntry(
        id: id, token: token, provider: provider, issuer: issuer, accountLabel: label,
        identity: node["subject"]?.string.map { Identity(issuer: issuer, tenant: node["tenant"]?.string, subject: $0) },
        now: TrustedInstant(time: createdAt, lived: Milliseconds(node["createdLived"]?.integer ?? 0)),
        expiresAt: expiresAt)
      entry.sender = node["sender"]?.secret.flatMap { Provider($0) }
      entry.kind = node["kind"]?.string.flatMap { TokenTypeHint(rawValue: $0) } ?? .refreshToken
      entry.username = node["username"]?.string
      entry.attempts = Int(node["attempts"]?.integer ?? 0)
      entry.isAnswered = node["isAnswered"] != nil
      entry.nextAttemptAt = node["nextAttemptAt"]?.timestamp ?? createdAt
      entry.lastError = node["lastError"]?.string
      entry.lastErrorAt = node["lastErrorAt"]?.timestamp
      return entry
    }
    guard let read else { return nil }
    self = read
  }
}
