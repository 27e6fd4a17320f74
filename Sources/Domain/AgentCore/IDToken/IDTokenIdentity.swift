public import AgentModel

/// Who signed in, where and when: what every later ID token of the same session must say again (OpenID Connect Core
/// §12.2). Kept with the account.
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

  /// Of claims that were believed.
  public init?(_ claims: IDTokenClaims) {
    guard let issuer = claims.issuer, let subject = claims.subject else { return nil }
    self.init(
      issuer: issuer, subject: subject, audiences: claims.audiences, authorizedParty: claims.authorizedParty,
      authTime: claims.authTime)
  }

  /// What a refreshed token changed and may not. `subjectChanged` and `issuerChanged` mean another person: nothing of
  /// that answer belongs to this account.
  public func changes(in refreshed: IDTokenIdentity) -> [IDTokenFailure] {
    var changes: [IDTokenFailure] = []
    if !isSame(issuer, refreshed.issuer) { changes.append(.issuerChanged) }
    if !isSame(subject, refreshed.subject) { changes.append(.subjectChanged) }
    if Set(audiences.map { Array($0.utf8) }) != Set(refreshed.audiences.map { Array($0.utf8) }) {
      changes.append(.audienceChanged)
    }
    if authorizedParty.map({ Array($0.utf8) }) != refreshed.authorizedParty.map({ Array($0.utf8) }) {
      changes.append(.authorizedPartyChanged)
    }
    // It need not come again, and one token may have a fraction where the other has none.
    if let first = authTime, let second = refreshed.authTime,
      first.milliseconds / 1000 != second.milliseconds / 1000
    {
      changes.append(.authTimeChanged)
    }
    return changes
  }
}
