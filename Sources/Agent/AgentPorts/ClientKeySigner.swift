public import AgentModel
public import Secrets

/// Signs what a client says of itself (RFC 7523). The arithmetic is a library's.
public protocol ClientKeySigner: Sendable {
  /// What such a key signs with, unless somebody says otherwise; nil if it is no private key that can be used.
  func algorithm(of key: PrivateKey) -> SignatureAlgorithm?
  /// The signature in its JOSE form (RFC 7518 §3); nil if key and algorithm don't fit.
  func sign(_ message: [UInt8], by key: PrivateKey, algorithm: SignatureAlgorithm) -> [UInt8]?
}

/// A private key, its numbers as big-endian bytes. Nothing here is checked yet.
public enum PrivateKey: Sendable {
  /// As OpenSSL and most consoles write it.
  case pem(Secret)
  /// In the order of RFC 7518 §6.3.2: d, p, q, dp, dq, qi.
  case rsa(modulus: [UInt8], exponent: [UInt8], private: [Secret])
  case ellipticCurve(curve: String, x: [UInt8], y: [UInt8], scalar: Secret)
  case ed25519(seed: Secret)
}

/// A machine that signs nothing.
public struct NoClientKeys: ClientKeySigner {
  public init() {}
  public func algorithm(of key: PrivateKey) -> SignatureAlgorithm? { nil }
  public func sign(_ message: [UInt8], by key: PrivateKey, algorithm: SignatureAlgorithm) -> [UInt8]? { nil }
}
