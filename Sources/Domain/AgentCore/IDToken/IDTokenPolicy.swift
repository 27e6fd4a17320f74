public import AgentModel

/// What an ID token must claim to be believed (OpenID Connect Core §3.1.3.7). Its signature is checked before.
///
///     let token = try CompactJWT(parsing: bytes)
///     let keys = try keySet.candidates(for: token)
///     guard keys.contains(where: { verifier.isValid(token.signature, over: token.signedBytes, by: $0, …) }) else { … }
///     let claims = try IDTokenClaims(token, names: provider.claimNames)
///     let verdict = IDTokenPolicy.check(claims, issuer: …, clientID: …, nonce: .required(nonce), now: trustedTime)
public enum IDTokenPolicy {
  /// How far two honest clocks may be apart.
  public static let tolerance = Milliseconds.seconds(120)
  /// OpenID Connect Core §2.
  public static let maximumSubjectBytes = 255

  /// What is expected of the nonce.
  public enum Nonce: Sendable, Equatable {
    /// The authorization request carried one: it must come back.
    case required(String)
    /// A refresh: it need not come back, but may not be another one (§12.2).
    case ifPresent(String)
    /// None was sent, as in the device flow.
    case unasked
  }

  /// Every reason is told, not only the first, in the order of the specification.
  public struct Verdict: Sendable, Equatable {
    public var failures: [IDTokenFailure] = []
    public var warnings: [IDTokenWarning] = []
    public var isBelieved: Bool { failures.isEmpty }
  }

  /// `now` is trusted time. `maximumAge` is what the request asked for by `max_age`.
  public static func check(
    _ claims: IDTokenClaims, issuer: String, clientID: String, nonce: Nonce, now: Timestamp,
    maximumAge: Milliseconds? = nil
  ) -> Verdict {
    var verdict = Verdict()
    func require(_ condition: Bool, _ failure: IDTokenFailure) {
      if !condition { verdict.failures.append(failure) }
    }
    require(claims.issuer.map { isSame($0, issuer) } ?? false, .issuerMismatch)
    require(claims.audiences.contains { isSame($0, clientID) }, .audienceMismatch)
    // Among several audiences the authorized party tells that the token was made for us.
    require(
      claims.authorizedParty.map { isSame($0, clientID) } ?? (claims.audiences.count <= 1), .authorizedPartyMismatch)
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
    return verdict
  }

  private static func failure(ofNonce nonce: String?, _ expected: Nonce) -> IDTokenFailure? {
    switch (expected, nonce) {
    case (.required, nil): .nonceMissing
    case (.required(let wanted), let nonce?), (.ifPresent(let wanted), let nonce?):
      isSame(wanted, nonce) ? nil : .nonceMismatch
    case (.ifPresent, nil), (.unasked, _): nil
    }
  }
}
