internal import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
package import Secrets

/// An ID token of an account whose claims were checked.
struct KeptIDToken: Sendable {
  /// Which keys proved its signature.
  enum Proof: Sendable, Equatable {
    case none
    /// Those of an earlier start of the agent.
    case beforeThisStart
    case keys(readAt: BootInstant)
  }

  var secret: Secret
  /// What a later one has to keep.
  var identity: IDTokenIdentity
  var expiresAt: Timestamp
  /// Nil if the token does not say when it was issued.
  var issuedAt: Timestamp?
  var proof: Proof

  var issuer: String { identity.issuer }
  var audiences: [String] { identity.audiences }
  var isVerified: Bool { proof != .none }

  /// Checks the claims (OpenID Connect Core §3.1.3.7 and §12.2) for the person, the client and the issuer of the
  /// account's sign-in, and for what the ID token before this one had. The signature is checked with `keys`, if they have
  /// the token's key.
  ///
  /// `nonce`: that of the sign-in; nil if it sent none, or it is not known.
  init(
    _ token: Secret, of profile: AccountProfile, nonce: String?, before: IDTokenIdentity?, keys: IssuerKeys?,
    signatures: any SignatureVerifier, now: Timestamp
  ) throws(IDTokenFailure) {
    let parsed = try token.withBytes { (bytes) throws(IDTokenFailure) in try CompactJWT(parsing: bytes) }
    let claims = try IDTokenClaims(parsed)
    // What the sign-in trusted beside the client is what the token before has: `changes` compares it.
    let verdict = IDTokenPolicy.check(
      claims, issuer: profile.identity.issuer, clientID: profile.issuedBy.clientID,
      nonce: nonce.map { .ifPresent($0) } ?? .unasked, now: now,
      trustsAudience: { audience in before?.audiences.contains { equalCodePoints($0, audience) } ?? false })
    if let failure = verdict.failures.first { throw failure }
    guard let identity = IDTokenIdentity(claims), let expiresAt = claims.expiresAt, let issuedAt = claims.issuedAt
    else {
      throw .expiryMissing
    }
    guard equalCodePoints(identity.subject, profile.identity.subject) else { throw .subjectChanged }
    if let change = before?.changes(in: identity, issuedAt: issuedAt).first { throw change }
    secret = token
    self.identity = identity.sharingTexts(of: profile)
    self.expiresAt = expiresAt
    self.issuedAt = issuedAt
    // The provider may have changed its keys since they were read: what they don't prove is checked with newer ones.
    proof =
      keys.flatMap { keys in (try? keys.haveSigned(parsed, by: signatures)) == true ? .keys(readAt: keys.readAt) : nil }
      ?? .none
  }

  /// True if one of the keys signed it.
  func isSigned(by keys: IssuerKeys?, _ signatures: any SignatureVerifier) throws(IDTokenFailure) -> Bool {
    let parsed = try secret.withBytes { (bytes) throws(IDTokenFailure) in try CompactJWT(parsing: bytes) }
    guard let keys else { throw .keyNotFound }
    return try keys.haveSigned(parsed, by: signatures)
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
