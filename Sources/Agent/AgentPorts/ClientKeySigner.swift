public import AgentModel
public import Secrets

/// Signs client assertions (RFC 7523) and DPoP proofs (RFC 9449). An adapter brings the cryptographic library.
public protocol ClientKeySigner: Sendable {
  /// What keeps all keys from being read and from signing; nil if nothing does.
  var missingLibrary: SystemLibrary? { get }
  /// The default algorithm of a private key; nil if the key is invalid or not supported.
  func algorithm(of key: PrivateKey) -> SignatureAlgorithm?
  /// Signs `message`. The signature has its JWS form (RFC 7518 §3); nil if key and algorithm don't fit. Both are secret:
  /// together they are the assertion.
  func sign(_ message: Secret, by key: PrivateKey, algorithm: SignatureAlgorithm) -> Secret?
  /// The public half of a private number of 32 bytes on the curve P-256; nil if the number is 0 or not below the
  /// curve's order, so that the caller draws another one.
  func publicPoint(ofP256 scalar: Secret) -> (x: [UInt8], y: [UInt8])?
}

/// A private key that was read and not yet checked. Numbers are big-endian bytes.
public enum PrivateKey: Sendable {
  /// PEM text, as OpenSSL and most provider consoles write it.
  case pem(Secret)
  /// `private` holds d, p, q, dp, dq, qi, in the order of RFC 7518 §6.3.2.
  case rsa(modulus: [UInt8], exponent: [UInt8], private: [Secret])
  /// RFC 7518 §6.2.2.
  case ellipticCurve(curve: String, x: [UInt8], y: [UInt8], scalar: Secret)
  /// RFC 8037 §2; the seed is the JWK member `d`.
  case ed25519(seed: Secret)
}

/// A platform without client keys: every operation returns nil.
public struct NoClientKeys: ClientKeySigner {
  public init() {}
  public var missingLibrary: SystemLibrary? { nil }
  public func algorithm(of key: PrivateKey) -> SignatureAlgorithm? { nil }
  public func sign(_ message: Secret, by key: PrivateKey, algorithm: SignatureAlgorithm) -> Secret? { nil }
  public func publicPoint(ofP256 scalar: Secret) -> (x: [UInt8], y: [UInt8])? { nil }
}
