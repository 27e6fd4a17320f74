/// JWS algorithms (RFC 7518 §3.1, RFC 8037) that signatures may use. `none` and symmetric algorithms are left out (RFC
/// 8725 §3.1).
public enum SignatureAlgorithm: String, Sendable, CaseIterable {
  case rs256 = "RS256"
  case rs384 = "RS384"
  case rs512 = "RS512"
  case ps256 = "PS256"
  case es256 = "ES256"
  case es384 = "ES384"
  case edDSA = "EdDSA"
}

/// A public key of a JWK Set (RFC 7517). Numbers are big-endian bytes.
public enum PublicKey: Sendable, Equatable {
  /// RFC 7518 §6.3.1.
  case rsa(modulus: [UInt8], exponent: [UInt8])
  /// RFC 7518 §6.2.1; `curve` is `P-256` or `P-384`.
  case ellipticCurve(curve: String, x: [UInt8], y: [UInt8])
  /// RFC 8037 §2.
  case ed25519(x: [UInt8])

  /// True if the key's type and curve fit `algorithm`.
  public func serves(_ algorithm: SignatureAlgorithm) -> Bool {
    switch (self, algorithm) {
    case (.rsa, .rs256), (.rsa, .rs384), (.rsa, .rs512), (.rsa, .ps256): true
    case (.ellipticCurve("P-256", _, _), .es256), (.ellipticCurve("P-384", _, _), .es384): true
    case (.ed25519, .edDSA): true
    default: false
    }
  }
}
