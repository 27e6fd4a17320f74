/// JWS algorithms (RFC 7518 §3.1, RFC 8037, RFC 8812) that signatures may use. `none` and symmetric algorithms are left
/// out (RFC 8725 §3.1).
public enum SignatureAlgorithm: String, Sendable, CaseIterable {
  case rs256 = "RS256"
  case rs384 = "RS384"
  case rs512 = "RS512"
  case ps256 = "PS256"
  case ps384 = "PS384"
  case ps512 = "PS512"
  case es256 = "ES256"
  case es384 = "ES384"
  case es512 = "ES512"
  case es256K = "ES256K"
  case edDSA = "EdDSA"
}

/// A curve of ECDSA keys (RFC 7518 §6.2.1.1, RFC 8812 §3.1), by its name in a JWK.
public enum EllipticCurve: String, Sendable, CaseIterable {
  case p256 = "P-256"
  case p384 = "P-384"
  case p521 = "P-521"
  case secp256k1

  /// Bytes of a coordinate, and of each half of a signature.
  public var coordinateBytes: Int {
    switch self {
    case .p256, .secp256k1: 32
    case .p384: 48
    case .p521: 66
    }
  }
}

/// A public key of a JWK Set (RFC 7517). Numbers are big-endian bytes.
public enum PublicKey: Sendable, Equatable {
  /// RFC 7518 §6.3.1.
  case rsa(modulus: [UInt8], exponent: [UInt8])
  /// RFC 7518 §6.2.1.
  case ellipticCurve(curve: EllipticCurve, x: [UInt8], y: [UInt8])
  /// RFC 8037 §2.
  case ed25519(x: [UInt8])
  /// RFC 8037 §2.
  case ed448(x: [UInt8])

  /// True if the key's type and curve fit `algorithm`.
  public func serves(_ algorithm: SignatureAlgorithm) -> Bool {
    switch (self, algorithm) {
    case (.rsa, .rs256), (.rsa, .rs384), (.rsa, .rs512), (.rsa, .ps256), (.rsa, .ps384), (.rsa, .ps512): true
    case (.ellipticCurve(.p256, _, _), .es256), (.ellipticCurve(.p384, _, _), .es384): true
    case (.ellipticCurve(.p521, _, _), .es512), (.ellipticCurve(.secp256k1, _, _), .es256K): true
    case (.ed25519, .edDSA), (.ed448, .edDSA): true
    default: false
    }
  }
}
