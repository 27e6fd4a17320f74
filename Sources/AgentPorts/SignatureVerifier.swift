public import AgentModel

/// Checks signatures of ID tokens (RFC 7515). The decision is a library's; which key and which claims is ours.
public protocol SignatureVerifier: Sendable {
  /// True only if `signature` over `message` is right for `key` and `algorithm`.
  func isValid(_ signature: [UInt8], over message: [UInt8], by key: PublicKey, algorithm: SignatureAlgorithm) -> Bool
}
