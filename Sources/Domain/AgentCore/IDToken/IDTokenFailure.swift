/// Why an ID token is refused. The raw values are stable: they are `data.reason` on the wire and in the audit log.
public enum IDTokenFailure: String, Error, Sendable, CaseIterable {
  // The token itself.
  case malformed, tooLarge, typeNotAllowed, criticalHeader, algorithmNotAllowed
  // Its key and signature. The issuer may have rotated keys: fetch the key set once and check again.
  case keySetMalformed, keyNotFound, signatureInvalid
  // Its claims (OpenID Connect Core §3.1.3.7).
  case issuerMismatch, audienceMismatch, authorizedPartyMismatch, subjectMissing, subjectTooLong, nonceMissing,
    nonceMismatch, expiryMissing, expired, notYetValid, issuedAtMissing, authTimeMissing, authenticationTooOld,
    contextMissing, contextMismatch, accessTokenMismatch
  // Claims of a refreshed token that differ from the first one (§12.2).
  case issuerChanged, subjectChanged, audienceChanged, authorizedPartyChanged, authTimeChanged
}

/// An oddity of an ID token that does not invalidate it.
public enum IDTokenWarning: String, Sendable {
  /// `iat` is in the future: the provider's clock or this machine's clock is wrong.
  case issuedInFuture
  /// `acr` was requested as a voluntary claim, and the token has none.
  case contextMissing
}
