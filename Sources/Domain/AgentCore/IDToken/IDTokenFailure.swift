/// Why an ID token is not believed. The raw values are stable: they are `data.reason` on the wire and in the audit.
public enum IDTokenFailure: String, Error, Sendable, CaseIterable {
  // The token itself.
  case malformed, tooLarge, typeNotAllowed, criticalHeader, algorithmNotAllowed
  // Its key and signature. New keys of the issuer may cure these: fetch them once and look again.
  case keySetMalformed, keyNotFound, signatureInvalid
  // What it claims (OpenID Connect Core §3.1.3.7).
  case issuerMismatch, audienceMismatch, authorizedPartyMismatch, subjectMissing, subjectTooLong, nonceMissing,
    nonceMismatch, expiryMissing, expired, notYetValid, issuedAtMissing, authTimeMissing, authenticationTooOld,
    accessTokenMismatch
  // What a refreshed token claims differently from the first (§12.2).
  case issuerChanged, subjectChanged, audienceChanged, authorizedPartyChanged, authTimeChanged

  /// The issuer may have changed its keys since its set was read.
  public var mayBeCuredByNewKeys: Bool { self == .keyNotFound || self == .signatureInvalid }
}

/// What is odd about an ID token without making it wrong.
public enum IDTokenWarning: String, Sendable {
  /// Issued in our future: somebody's clock is wrong, and it may be ours.
  case issuedInFuture
}

/// Identifiers are compared code point by code point (OpenID Connect Core §14); Swift's own comparison of Strings
/// takes canonically equivalent ones for equal.
func isSame(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }
