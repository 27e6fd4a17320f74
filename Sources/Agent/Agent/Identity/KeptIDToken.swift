internal import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentPorts
package import Secrets

/// An ID token of an account whose claims were checked.
struct KeptIDToken: Sendable {
  var secret: Secret
  var issuer: String
  var audiences: [String]
  var expiresAt: Timestamp
  /// Nil if the token does not say when it was issued.
  var issuedAt: Timestamp?
  /// True if the signature was checked, too.
  var isVerified: Bool

  /// Checks the claims (OpenID Connect Core §3.1.3.7) for the person, the client and the issuer of the account's sign-in.
  /// The signature is checked with `keys`, if they have the token's key.
  init(
    _ token: Secret, of profile: AccountProfile, keys: JWKSet?, signatures: any SignatureVerifier, now: Timestamp
  ) throws(IDTokenFailure) {
    let parsed = try token.withBytes { (bytes) throws(IDTokenFailure) in try CompactJWT(parsing: bytes) }
    let claims = try IDTokenClaims(parsed)
    let verdict = IDTokenPolicy.check(
      claims, issuer: profile.identity.issuer, clientID: profile.issuedBy.clientID, nonce: .unasked, now: now)
    if let failure = verdict.failures.first { throw failure }
    guard let issuer = claims.issuer, let expiresAt = claims.expiresAt else { throw .expiryMissing }
    guard claims.subject == profile.identity.subject else { throw .subjectChanged }
    secret = token
    self.issuer = issuer
    audiences = claims.audiences
    self.expiresAt = expiresAt
    issuedAt = claims.issuedAt
    // The provider may have changed its keys since they were read: what they don't prove is checked with newer ones.
    isVerified = (try? keys?.hasSigned(parsed, by: signatures)) ?? false
  }
}

/// The ID token in the answer to a refresh.
enum RefreshedIDToken: Sendable {
  case none
  /// It must not be given out.
  case invalid(IDTokenFailure)
  case kept(KeptIDToken)

  /// The token to store.
  var stored: KeptIDToken? { if case .kept(let token) = self { token } else { nil } }
}

/// The answer to `identity.get`.
package struct IDTokenAnswer: Sendable {
  package var secret: Secret
  package var account: AccountID
  package var issuer: String
  package var audiences: [String]
  /// By the wall clock, as it is now.
  package var expiresAt: Timestamp
  package var expiresInSeconds: Int64
}
