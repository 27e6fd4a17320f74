public import AgentModel

/// Checks signatures of ID tokens (RFC 7515). The decision is a library's; which key and which claims is ours.
public protocol SignatureVerifier: Sendable {
  /// True only if `signature` over `message` is right for `key` and `algorithm`.
  func isValid(_ signature: [UInt8], over message: [UInt8], by key: PublicKey, algorithm: SignatureAlgorithm) -> Bool

  /// What an ID token says of the access token beside it (`at_hash`, OpenID Connect Core §3.1.3.6): the left half of the
  /// hash that goes with its own algorithm. Nil if that can't be computed.
  func halfHash(_ token: UnsafeRawBufferPointer, algorithm: SignatureAlgorithm) -> [UInt8]?
}
