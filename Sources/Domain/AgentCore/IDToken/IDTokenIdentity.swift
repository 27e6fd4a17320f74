public import AgentModel

/// The claims that must not change within a session (OpenID Connect Core §12.2). Stored with the account.
public struct IDTokenIdentity: Sendable, Equatable {
  public var issuer: String
  public var subject: String
  public var audiences: [String]
  public var authorizedParty: String?
  public var authTime: Timestamp?

  public init(
    issuer: String, subject: String, audiences: [String], authorizedParty: String? = nil, authTime: Timestamp? = nil
  ) {
    self.issuer = issuer
    self.subject = subject
    self.audiences = audiences
    self.authorizedParty = authorizedParty
    self.authTime = authTime
  }

  /// From verified claims; nil without `iss` or `sub`.
  public init?(_ claims: IDTokenClaims) {
    guard let issuer = claims.issuer, let subject = claims.subject else { return nil }
    self.init(
      issuer: issuer, subject: subject, audiences: claims.audiences, authorizedParty: claims.authorizedParty,
      authTime: claims.authTime)
  }

  /// Forbidden changes in a refreshed ID token. `subjectChanged` and `issuerChanged` mean another person: no part of
  /// that response belongs to this account.
  public func changes(in refreshed: IDTokenIdentity) -> [IDTokenFailure] {
    var changes: [IDTokenFailure] = []
    if !equalCodePoints(issuer, refreshed.issuer) { changes.append(.issuerChanged) }
    if !equalCodePoints(subject, refreshed.subject) { changes.append(.subjectChanged) }
    if Set(audiences.map { Array($0.utf8) }) != Set(refreshed.audiences.map { Array($0.utf8) }) {
      changes.append(.audienceChanged)
    }
    if authorizedParty.map({ Array($0.utf8) }) != refreshed.authorizedParty.map({ Array($0.utf8) }) {
      changes.append(.authorizedPartyChanged)
    }
    // `auth_time` may be absent, and may have a fraction in only one of the tokens.
    if let first = authTime, let second = refreshed.authTime,
      first.milliseconds / 1000 != second.milliseconds / 1000
    {
      changes.append(.authTimeChanged)
    }
    return changes
  }
}
