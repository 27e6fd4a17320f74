public import AgentModel

/// Verifies signatures of ID tokens (RFC 7515). An adapter brings the cryptographic library; `AgentCore` selects keys
/// and checks claims.
public protocol SignatureVerifier: Sendable {
  /// True only if `signature` over `message` is valid for `key` and `algorithm`.
  func isValid(_ signature: [UInt8], over message: [UInt8], by key: PublicKey, algorithm: SignatureAlgorithm) -> Bool

  /// The value of `at_hash` for an access token (OpenID Connect Core §3.1.3.6): the left half of the hash that belongs
  /// to the ID token's algorithm. Nil if the hash is not supported.
  func halfHash(_ token: UnsafeRawBufferPointer, algorithm: SignatureAlgorithm) -> [UInt8]?
}
