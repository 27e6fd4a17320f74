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

  /// A key serves algorithms of its own kind only.
  public func serves(_ algorithm: SignatureAlgorithm) -> Bool {
    switch (self, algorithm) {
    case (.rsa, .rs256), (.rsa, .rs384), (.rsa, .rs512), (.rsa, .ps256): true
    case (.ellipticCurve("P-256", _, _), .es256), (.ellipticCurve("P-384", _, _), .es384): true
    case (.ed25519, .edDSA): true
    default: false
    }
  }
}
