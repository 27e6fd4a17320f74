public import AgentModel

/// The claims that must not change within a session (OpenID Connect Core §12.2), from the ID token that is stored with
/// the account.
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

  /// Forbidden changes in a refreshed ID token of the same person: the session goes on, and this token is not given out.
  ///
  /// A later `auth_time` is none: the person signed in again at the provider, for another client of the same browser.
  /// One after `issuedAt` is, and an earlier one.
  public func changes(in refreshed: IDTokenIdentity, issuedAt: Timestamp) -> [IDTokenFailure] {
    var changes: [IDTokenFailure] = []
    if !equalCodePoints(issuer, refreshed.issuer) { changes.append(.issuerChanged) }
    if !equalCodePoints(subject, refreshed.subject) { changes.append(.subjectChanged) }
    if Set(audiences.map(ExactText.init)) != Set(refreshed.audiences.map(ExactText.init)) {
      changes.append(.audienceChanged)
    }
    if authorizedParty.map(ExactText.init) != refreshed.authorizedParty.map(ExactText.init) {
      changes.append(.authorizedPartyChanged)
    }
    // `auth_time` may be absent, and may have a fraction in only one of the tokens.
    if let first = authTime, let second = refreshed.authTime {
      let (before, after, latest) = (first.wholeSeconds, second.wholeSeconds, issuedAt.wholeSeconds)
      if after != before, !(before...max(before, latest)).contains(after) { changes.append(.authTimeChanged) }
    }
    return changes
  }
}

extension Timestamp {
  fileprivate var wholeSeconds: Int64 { milliseconds / 1000 }
}
