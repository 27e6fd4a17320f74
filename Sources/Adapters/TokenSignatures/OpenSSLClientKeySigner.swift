public import AgentModel
public import AgentPorts
internal import CVerify
public import Secrets

/// Signs client assertions and DPoP proofs by OpenSSL's EVP. The key is parsed for each signature: exchanges are rare,
/// and a key that OpenSSL does not keep needs no wiping.
public struct OpenSSLClientKeySigner: ClientKeySigner {
  public init() {}

  /// The library is opened late, and tells by its work alone that it is there: 1 is a private number.
  public var missingLibrary: SystemLibrary? {
    let one = [UInt8](repeating: 0, count: csign_p256_bytes - 1) + [1]
    return publicPoint(ofP256: one.withUnsafeBytes { Secret(copying: $0) }) == nil ? .crypto : nil
  }

  public func algorithm(of key: PrivateKey) -> SignatureAlgorithm? {
    withKey(key) { key in
      switch csign_kind_of(key) {
      case csign_rsa: .rs256
      case csign_p256: .es256
      case csign_p384: .es384
      case csign_ed25519: .edDSA
      default: nil
      }
    }
  }

  public func sign(_ message: Secret, by key: PrivateKey, algorithm: SignatureAlgorithm) -> Secret? {
    withKey(key) { key -> Secret? in
      guard Self.fits(csign_kind_of(key), algorithm), let foreign = algorithm.foreign else { return nil }
      let signature = Secret(
        SecretBytes(capacity: csign_most) { target in
          message.withBytes { message in
            let span = csign_span(bytes: message.assumingMemoryBound(to: UInt8.self).baseAddress, count: message.count)
            return csign_sign(
              key, foreign, span, target.assumingMemoryBound(to: UInt8.self).baseAddress)
          }
        })
      return signature.count == 0 ? nil : signature
    }
  }

  public func publicPoint(ofP256 scalar: Secret) -> (x: [UInt8], y: [UInt8])? {
    var x = [UInt8](repeating: 0, count: csign_p256_bytes)
    var y = x
    let isMade = scalar.withBytes { bytes in
      let span = csign_span(bytes: bytes.assumingMemoryBound(to: UInt8.self).baseAddress, count: bytes.count)
      return csign_p256_public(span, &x, &y)
    }
    return isMade ? (x, y) : nil
  }

  private static func fits(_ kind: csign_kind, _ algorithm: SignatureAlgorithm) -> Bool {
    switch (kind, algorithm) {
    case (csign_rsa, .rs256), (csign_rsa, .rs384), (csign_rsa, .rs512), (csign_rsa, .ps256): true
    case (csign_p256, .es256), (csign_p384, .es384), (csign_ed25519, .edDSA): true
    default: false
    }
  }

  private func withKey<Result>(_ key: PrivateKey, _ body: (OpaquePointer) -> Result?) -> Result? {
    guard let opened = open(key) else { return nil }
    defer { csign_free(opened) }
    return body(opened)
  }

  private func open(_ key: PrivateKey) -> OpaquePointer? {
    switch key {
    case .pem(let text): text.withSpan { csign_from_pem($0) }
    case .rsa(let modulus, let exponent, let secrets):
      modulus.withSpan { modulus in
        exponent.withSpan { exponent in
          Self.withSpans(of: secrets[...], after: [modulus, exponent]) { $0.count == 8 ? csign_from_rsa($0) : nil }
        }
      }
    case .ellipticCurve(let curve, let x, let y, let scalar):
      x.withSpan { x in
        y.withSpan { y in
          scalar.withSpan { csign_from_ec(curve == "P-256" ? csign_p256 : csign_p384, x, y, $0) }
        }
      }
    case .ed25519(let seed): seed.withSpan { csign_from_ed25519($0) }
    }
  }

  /// Lends all secrets at once, each in its guarded memory.
  private static func withSpans(
    of secrets: ArraySlice<Secret>, after spans: [csign_span], _ body: ([csign_span]) -> OpaquePointer?
  ) -> OpaquePointer? {
    guard let first = secrets.first else { return body(spans) }
    return first.withSpan { withSpans(of: secrets.dropFirst(), after: spans + [$0], body) }
  }
}

extension SignatureAlgorithm {
  /// Nil for one that the agent verifies and does not sign with.
  fileprivate var foreign: csign_algorithm? {
    switch self {
    case .rs256: csign_rs256
    case .rs384: csign_rs384
    case .rs512: csign_rs512
    case .ps256: csign_ps256
    case .es256: csign_es256
    case .es384: csign_es384
    case .edDSA: csign_eddsa
    case .ps384, .ps512, .es512, .es256K: nil
    }
  }
}

extension Secret {
  fileprivate func withSpan(_ body: (csign_span) -> OpaquePointer?) -> OpaquePointer? {
    withBytes { body(csign_span(bytes: $0.assumingMemoryBound(to: UInt8.self).baseAddress, count: $0.count)) }
  }
}

extension [UInt8] {
  fileprivate func withSpan(_ body: (csign_span) -> OpaquePointer?) -> OpaquePointer? {
    withUnsafeBufferPointer { body(csign_span(bytes: $0.baseAddress, count: $0.count)) }
  }
}
