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
        switch (key, algorithm) {
        case (.rsa(let modulus, let exponent), .rs256), (.rsa(let modulus, let exponent), .rs384),
          (.rsa(let modulus, let exponent), .rs512), (.rsa(let modulus, let exponent), .ps256):
          modulus.withSpan { modulus in
            exponent.withSpan { exponent in
              cverify_rsa(algorithm.hash, algorithm == .ps256, modulus, exponent, message, signature)
            }
          }
        case (.ellipticCurve("P-256", let x, let y), .es256):
          x.withSpan { x in y.withSpan { y in cverify_ecdsa(cverify_p256, x, y, message, signature) } }
        case (.ellipticCurve("P-384", let x, let y), .es384):
          x.withSpan { x in y.withSpan { y in cverify_ecdsa(cverify_p384, x, y, message, signature) } }
        case (.ed25519(let x), .edDSA):
          x.withSpan { x in cverify_ed25519(x, message, signature) }
        default: false
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
    case .rs384, .es384: cverify_sha384
    case .rs512: cverify_sha512
    case .rs256, .ps256, .es256, .edDSA: cverify_sha256
    }
  }
}

extension [UInt8] {
  fileprivate func withSpan(_ body: (cverify_span) -> Bool) -> Bool {
    withUnsafeBufferPointer { body(cverify_span(bytes: $0.baseAddress, count: $0.count)) }
  }
}
