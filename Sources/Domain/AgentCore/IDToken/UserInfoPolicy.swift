public import AgentModel

/// Checks the claims of a signed answer of userinfo (OpenID Connect Core §5.3.2). The caller verifies the signature before,
/// and compares the subject.
public enum UserInfoPolicy {
  /// The first fault; nil if there is none. `iss` and `aud` should be there and often are not; those that are there have to
  /// be right.
  public static func fault(
    of claims: IDTokenClaims, clientID: String, now: Timestamp, isIssuer: (String) -> Bool
  ) -> IDTokenFailure? {
    if let issuer = claims.issuer, !isIssuer(issuer) { return .issuerMismatch }
    if !claims.audiences.isEmpty, !claims.audiences.contains(where: { equalCodePoints($0, clientID) }) {
      return .audienceMismatch
    }
    if let expiresAt = claims.expiresAt, now >= expiresAt + IDTokenPolicy.tolerance { return .expired }
    return nil
  }
}
