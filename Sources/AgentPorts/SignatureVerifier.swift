/// Checks signatures of ID tokens (RFC 7515). The decision is a library's; which key and which claims is ours.
public protocol SignatureVerifier: Sendable {
  /// True only if `signature` over `message` is right for `key` and `algorithm`.
  func isValid(_ signature: [UInt8], over message: [UInt8], by key: PublicKey, algorithm: SignatureAlgorithm) -> Bool
}

/// The algorithms that are accepted. `none` and the symmetric ones are not among them (RFC 8725 §3.1).
public enum SignatureAlgorithm: String, Sendable, CaseIterable {
  case rs256 = "RS256"
  case rs384 = "RS384"
  case rs512 = "RS512"
  case ps256 = "PS256"
  case es256 = "ES256"
  case es384 = "ES384"
  case edDSA = "EdDSA"
}

/// A public key of a JWK Set (RFC 7517), its numbers as big-endian bytes.
public enum PublicKey: Sendable, Equatable {
  case rsa(modulus: [UInt8], exponent: [UInt8])
  case ellipticCurve(curve: String, x: [UInt8], y: [UInt8])
  case ed25519(x: [UInt8])
}
