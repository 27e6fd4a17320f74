public import AgentModel
public import AgentPorts
internal import CVerify

/// Verifies signatures by OpenSSL's EVP. It decides only whether key, algorithm and signature fit each other.
///
/// Refused even if OpenSSL would accept them: a key of another kind than the algorithm's, RSA under 2048 or over 8192
/// bits, a point off its curve, a signature that is not exactly as long as the algorithm's (RFC 8725 §3.4).
public struct OpenSSLSignatureVerifier: SignatureVerifier {
  public init() {}

  public func isValid(
    _ signature: [UInt8], over message: [UInt8], by key: PublicKey, algorithm: SignatureAlgorithm
  ) -> Bool {
    message.withSpan { message in
      signature.withSpan { signature in
        // `serves` alone decides which kinds fit.
        guard key.serves(algorithm) else { return false }
        return switch key {
        case .rsa(let modulus, let exponent):
          modulus.withSpan { modulus in
            exponent.withSpan { exponent in
              cverify_rsa(algorithm.hash, algorithm.isPSS, modulus, exponent, message, signature)
            }
          }
        case .ellipticCurve(let curve, let x, let y):
          x.withSpan { x in y.withSpan { y in cverify_ecdsa(curve.foreign, x, y, message, signature) } }
        case .ed25519(let x): x.withSpan { x in cverify_ed25519(x, message, signature) }
        case .ed448(let x): x.withSpan { x in cverify_ed448(x, message, signature) }
        }
      }
    }
  }

  public func halfHash(_ token: UnsafeRawBufferPointer, algorithm: SignatureAlgorithm) -> [UInt8]? {
    // Ed25519 uses SHA-512 internally (RFC 8032 §5.1), and at_hash is made with it.
    let hash = algorithm == .edDSA ? cverify_sha512 : algorithm.hash
    let digest = [UInt8](unsafeUninitializedCapacity: cverify_most_digest) { buffer, count in
      let span = cverify_span(bytes: token.assumingMemoryBound(to: UInt8.self).baseAddress, count: token.count)
      count = cverify_digest(hash, span, buffer.baseAddress)
    }
    return digest.isEmpty ? nil : Array(digest.prefix(digest.count / 2))
  }
}

extension SignatureAlgorithm {
  fileprivate var hash: cverify_hash {
    switch self {
    case .rs384, .ps384, .es384: cverify_sha384
    case .rs512, .ps512, .es512: cverify_sha512
    case .rs256, .ps256, .es256, .es256K, .edDSA: cverify_sha256
    }
  }

  fileprivate var isPSS: Bool { self == .ps256 || self == .ps384 || self == .ps512 }
}

extension EllipticCurve {
  fileprivate var foreign: cverify_curve {
    switch self {
    case .p256: cverify_p256
    case .p384: cverify_p384
    case .p521: cverify_p521
    case .secp256k1: cverify_secp256k1
    }
  }
}

extension [UInt8] {
  fileprivate func withSpan(_ body: (cverify_span) -> Bool) -> Bool {
    withUnsafeBufferPointer { body(cverify_span(bytes: $0.baseAddress, count: $0.count)) }
  }
}
