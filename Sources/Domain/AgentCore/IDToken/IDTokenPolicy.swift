public import AgentModel

/// Checks the claims of an ID token (OpenID Connect Core §3.1.3.7). The caller verifies the signature before.
///
///     let token = try CompactJWT(parsing: bytes)
///     let keys = try keySet.candidates(for: token)
///     guard keys.contains(where: { verifier.isValid(token.signature, over: token.signedBytes, by: $0, …) }) else { … }
///     let claims = try IDTokenClaims(token, names: provider.claimNames)
///     let verdict = IDTokenPolicy.check(claims, issuer: …, clientID: …, nonce: .required(nonce), now: trustedTime)
public enum IDTokenPolicy {
  /// The clock difference that is tolerated.
  public static let tolerance = Milliseconds.seconds(120)
  /// Maximum length of `sub` (OpenID Connect Core §2).
  public static let maximumSubjectBytes = 255

  /// The expected nonce.
  public enum Nonce: Sendable, Equatable {
    /// The authorization request had a nonce: the token must repeat it.
    case required(String)
    /// A refreshed token: may have no nonce, but not a different one (§12.2).
    case ifPresent(String)
    /// No nonce was sent, as in the device flow.
    case unasked
  }

  /// All failures, in the order of the specification.
  public struct Verdict: Sendable, Equatable {
    public var failures: [IDTokenFailure] = []
    public var warnings: [IDTokenWarning] = []
  }

  /// The requested authentication context (`acr`).
  public enum Context: Sendable, Equatable {
    case unasked
    /// `acr_values`: a token with another `acr` is refused, one without is not (§5.5.1.1, Voluntary Claims).
    case voluntary([String])
    /// An essential claim: the token must have one of these, or any if there are none (§5.5.1.1, Essential Claims).
    case essential([String])
  }

  /// Checks all claims. `now` is trusted time; `maximumAge` is the request's `max_age`. `trustsAudience` decides about
  /// members of `aud` beside the client (§3.1.3.7, 3): a token that others may use as well proves less to each.
  public static func check(
    _ claims: IDTokenClaims, issuer: String, clientID: String, nonce: Nonce, now: Timestamp,
    maximumAge: Milliseconds? = nil, context: Context = .unasked, trustsAudience: (String) -> Bool = { _ in false }
  ) -> Verdict {
    var verdict = Verdict()
    func require(_ condition: Bool, _ failure: IDTokenFailure) {
      if !condition { verdict.failures.append(failure) }
    }
    require(claims.issuer.map { equalCodePoints($0, issuer) } ?? false, .issuerMismatch)
    require(
      claims.audiences.contains { equalCodePoints($0, clientID) }
        && claims.audiences.allSatisfy { equalCodePoints($0, clientID) || trustsAudience($0) },
      .audienceMismatch)
    // With several audiences, `azp` shows that the token was issued to this client.
    require(
      claims.authorizedParty.map { equalCodePoints($0, clientID) } ?? (claims.audiences.count <= 1),
      .authorizedPartyMismatch)
    let subjectBytes = claims.subject?.utf8.count ?? 0
    require(subjectBytes > 0, .subjectMissing)
    require(subjectBytes <= maximumSubjectBytes, .subjectTooLong)
    if let failure = failure(ofNonce: claims.nonce, nonce) { verdict.failures.append(failure) }
    if let expiresAt = claims.expiresAt {
      require(now < expiresAt + tolerance, .expired)
    } else {
      verdict.failures.append(.expiryMissing)
    }
    require(claims.notBefore.map { $0 < now + tolerance } ?? true, .notYetValid)
    if let issuedAt = claims.issuedAt {
      if issuedAt > now + tolerance { verdict.warnings.append(.issuedInFuture) }
    } else {
      verdict.failures.append(.issuedAtMissing)
    }
    if let maximumAge {
      if let authTime = claims.authTime {
        require(now < authTime + maximumAge + tolerance, .authenticationTooOld)
      } else {
        verdict.failures.append(.authTimeMissing)
      }
    }
    check(claims.authenticationContext, against: context, &verdict)
    return verdict
  }

  private static func check(_ told: String?, against context: Context, _ verdict: inout Verdict) {
    switch (context, told) {
    case (.unasked, _): break
    case (.voluntary, nil): verdict.warnings.append(.contextMissing)
    case (.essential, nil): verdict.failures.append(.contextMissing)
    case (.voluntary(let wanted), let told?), (.essential(let wanted), let told?):
      if !wanted.isEmpty, !wanted.contains(where: { equalCodePoints($0, told) }) {
        verdict.failures.append(.contextMismatch)
      }
    }
  }

  private static func failure(ofNonce nonce: String?, _ expected: Nonce) -> IDTokenFailure? {
    switch (expected, nonce) {
    case (.required, nil): .nonceMissing
    case (.required(let wanted), let nonce?), (.ifPresent(let wanted), let nonce?):
      equalCodePoints(wanted, nonce) ? nil : .nonceMismatch
    case (.ifPresent, nil), (.unasked, _): nil
    }
  }
}
