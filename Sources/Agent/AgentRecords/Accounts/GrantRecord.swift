package import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentVault
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// The refresh token and the grant's health.
  package static let grant = DeclaredKind(4, under: .token, [.counted, .untilSignOut])
  /// Written before a refresh token is sent (docs/tokens.md, Journal).
  package static let intent = DeclaredKind(5, under: .token, .untilSignOut)
}

/// Whether an account's tokens are bound to its key. The raw values are those of the contract.
package enum TokenBinding: String, Sendable, CaseIterable {
  case bound
  /// They were, and the last answer brought a bearer token.
  case downgraded
}

/// The durable part of a grant: the refresh token and its facts.
package struct GrantRecord: Sendable {
  /// Nil if the provider issued none.
  package var refreshToken: Secret?
  /// The key that its tokens are bound to (docs/dpop.md); nil for bearer tokens. In one record with the refresh token,
  /// since neither is of use without the other, so that they come and go together.
  @Rare package var deviceKey: DeviceKey? = nil
  /// The last answer brought a bearer token in spite of the key.
  package var isDowngraded = false
  /// Its refresh token came by an import or a backup: tokens of its family may be elsewhere, also in the outbox.
  package var cameFromElsewhere = false
  /// Counts the exchanges that were committed.
  package var generation: UInt64
  package var memory: GrantMemory
  /// Granted scopes, which may be fewer than were asked for (RFC 6749 §3.3).
  package var scopes: ScopeSet
  /// True if an exchange granted fewer scopes than the sign-in: a later one may grant more again.
  package var isNarrowed = false
  /// Scopes that the sign-in granted and that an exchange took away.
  package var lostScopes = ScopeSet([])
  /// What the sign-in asked for (RFC 9396), which signing in again asks for, too.
  @Rare package var requestedDetails: AuthorizationDetails? = nil
  /// What the provider said last that it granted; nil if it said nothing, or that it granted none.
  @Rare package var details: AuthorizationDetails? = nil
  /// On the provider's timeline.
  package var refreshTokenExpiresAt: Timestamp?
  /// The fingerprint of the stored ID token, if its signature was checked before it was stored.
  package var verifiedIDToken: String?
  /// The `nonce` of the sign-in, if its ID token has it: a later one must have no other (OpenID Connect Core §12.2).
  package var nonce: String?
  /// When the person signed in, as the ID token of the sign-in says: a later one must not name an earlier moment.
  package var authTime: Timestamp?
  /// Why the ID token of the last refresh was dropped, for `doctor`; nil if it was not.
  @Rare package var droppedIDToken: IDTokenFailure? = nil

  /// Nil for bearer tokens.
  package var tokenBinding: TokenBinding? {
    guard deviceKey != nil else { return nil }
    return isDowngraded ? .downgraded : .bound
  }

  package var record: Secret {
    SecretJSON.write { writer in
      writer.member("refreshToken", refreshToken)
      deviceKey?.write(to: &writer, as: "deviceKey")
      if isDowngraded { writer.member("isDowngraded", 1) }
      if cameFromElsewhere { writer.member("cameFromElsewhere", 1) }
      writer.member("generation", Int64(generation))
      memory.write(to: &writer)
      writer.member("scopes", scopes.names)
      if scopes.lacksSome { writer.member("lacksScopes", 1) }
      if isNarrowed { writer.member("isNarrowed", 1) }
      if !lostScopes.isEmpty { writer.member("lostScopes", lostScopes.names) }
      requestedDetails?.write(to: &writer, as: "requestedDetails")
      details?.write(to: &writer, as: "details")
      writer.member("refreshTokenExpiresAt", refreshTokenExpiresAt?.milliseconds)
      writer.member("verifiedIdToken", verifiedIDToken)
      writer.member("nonce", nonce)
      writer.member("authTime", authTime?.milliseconds)
      writer.member("droppedIdToken", droppedIDToken?.rawValue)
    }
  }

  package init(
    refreshToken: Secret?, generation: UInt64, memory: GrantMemory, scopes: ScopeSet, refreshTokenExpiresAt: Timestamp?
  ) {
    self.refreshToken = refreshToken
    self.generation = generation
    self.memory = memory
    self.scopes = scopes
    self.refreshTokenExpiresAt = refreshTokenExpiresAt
  }

  package init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> GrantRecord? in
      guard let generation = node["generation"]?.integer, let memory = GrantMemory(node) else { return nil }
      var grant = GrantRecord(
        refreshToken: node["refreshToken"]?.secret, generation: UInt64(clamping: generation), memory: memory,
        scopes: ScopeSet(node["scopes"]?.strings ?? [], lacksSome: node["lacksScopes"] != nil),
        refreshTokenExpiresAt: node["refreshTokenExpiresAt"]?.timestamp)
      grant.deviceKey = node["deviceKey"].flatMap { DeviceKey($0) }
      grant.isDowngraded = node["isDowngraded"] != nil
      grant.cameFromElsewhere = node["cameFromElsewhere"] != nil
      grant.isNarrowed = node["isNarrowed"] != nil
      grant.lostScopes = ScopeSet(node["lostScopes"]?.strings ?? [])
      grant.requestedDetails = AuthorizationDetails(granted: node["requestedDetails"])
      grant.details = AuthorizationDetails(granted: node["details"])
      grant.verifiedIDToken = node["verifiedIdToken"]?.string
      grant.nonce = node["nonce"]?.string
      grant.authTime = node["authTime"]?.timestamp
      grant.droppedIDToken = node["droppedIdToken"]?.string.flatMap { IDTokenFailure(rawValue: $0) }
      return grant
    }
    guard let read else { return nil }
    self = read
  }
}
