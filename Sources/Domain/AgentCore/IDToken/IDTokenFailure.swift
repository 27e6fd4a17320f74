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
  // Claims of a refreshed token that differ from those of the sign-in's (§12.2). The first two mean another
  // person; with the others the person is the same, and only this token is refused.
  case issuerChanged, subjectChanged, audienceChanged, authorizedPartyChanged, authTimeChanged
}

extension IDTokenFailure {
  /// What is wrong with the token, for a person.
  public var meaning: String {
    switch self {
    case .malformed: "it can't be read"
    case .tooLarge: "it is larger than \(CompactJWT.maximumBytes >> 10) KiB"
    case .typeNotAllowed, .criticalHeader: "it is a token of another kind"
    case .algorithmNotAllowed: "it is signed by an algorithm that the provider does not list, or that proves nothing"
    case .keySetMalformed, .keyNotFound, .signatureInvalid: "no key of the provider signed it"
    case .issuerMismatch, .issuerChanged: "it names another issuer (`iss`)"
    case .audienceMismatch: "it is not for this client alone (`aud`)"
    case .audienceChanged: "it is for others than the one before it (`aud`)"
    case .authorizedPartyMismatch: "it was issued to another client (`azp`)"
    case .authorizedPartyChanged: "it was issued to another client than the one before it (`azp`)"
    case .subjectMissing, .subjectTooLong: "it names no person (`sub`)"
    case .subjectChanged: "it names another person (`sub`)"
    case .nonceMissing, .nonceMismatch: "it is of another sign-in (`nonce`)"
    case .expiryMissing: "it does not say when it ends (`exp`)"
    case .expired: "it has expired (`exp`)"
    case .notYetValid: "it is not valid yet (`nbf`)"
    case .issuedAtMissing: "it does not say when it was issued (`iat`)"
    case .authTimeMissing: "it does not say when the person signed in (`auth_time`)"
    case .authenticationTooOld: "the person signed in too long ago (`auth_time`)"
    case .authTimeChanged: "the moment at which the person signed in went back, or lies ahead (`auth_time`)"
    case .contextMissing, .contextMismatch: "the person signed in in another way than was asked for (`acr`)"
    case .accessTokenMismatch: "it came with another access token (`at_hash`)"
    }
  }
}

/// An oddity of an ID token that does not invalidate it.
public enum IDTokenWarning: String, Sendable {
  /// `iat` is in the future: the provider's clock or this machine's clock is wrong.
  case issuedInFuture
  /// `acr` was requested as a voluntary claim, and the token has none.
  case contextMissing
}
