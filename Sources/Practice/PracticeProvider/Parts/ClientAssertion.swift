import COpenSSL

/// A client's signed assertion (RFC 7523 section 3), not yet verified.
struct ClientAssertion {
  static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
  /// Longest lifetime that is accepted: a stolen assertion works as long as it is valid.
  static let longestLifetimeSeconds: Int64 = 300
  static let clockSkewSeconds: Int64 = 60

  let algorithm: String
  let claims: PracticeJSON
  private let signed: [UInt8]
  private let signature: [UInt8]

  init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
      let signature = Base64URL.decode(parts[2]),
      let algorithm = (try? PracticeJSON(parsing: header))?["alg"]?.stringValue,
      let claims = try? PracticeJSON(parsing: payload)
    else { return nil }
    (self.algorithm, self.claims, self.signature) = (algorithm, claims, signature)
    signed = Array((parts[0] + "." + parts[1]).utf8)
  }

  /// Verifies with a key of the algorithm's kind.
  func isSigned(byPEM pem: String) -> Bool {
    let bytes = Array(pem.utf8)
    let source = BIO_new_mem_buf(bytes, Int32(bytes.count))
    defer { BIO_free(source) }
    guard let key = PEM_read_bio_PUBKEY(source, nil, nil, nil) else { return false }
    defer { EVP_PKEY_free(key) }
    let (type, digest): (String, OpaquePointer?)
    switch algorithm {
    case "RS256": (type, digest) = ("RSA", EVP_sha256())
    case "ES256": (type, digest) = ("EC", EVP_sha256())
    case "EdDSA": (type, digest) = ("ED25519", nil)
    default: return false
    }
    guard EVP_PKEY_is_a(key, type) == 1 else { return false }
    let encoded = algorithm == "ES256" ? Self.der(fromJOSE: signature) : signature
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    return EVP_DigestVerifyInit(context, nil, digest, nil, key) == 1
      && EVP_DigestVerify(context, encoded, encoded.count, signed, signed.count) == 1
  }

  /// RFC 7518 section 3.4.
  static func der(fromJOSE signature: [UInt8]) -> [UInt8] {
    guard signature.count == 64 else { return [] }
    let pair = ECDSA_SIG_new()
    defer { ECDSA_SIG_free(pair) }
    ECDSA_SIG_set0(pair, BN_bin2bn(signature, 32, nil), BN_bin2bn(Array(signature[32...]), 32, nil))
    var encoded = [UInt8](repeating: 0, count: Int(i2d_ECDSA_SIG(pair, nil)))
    encoded.withUnsafeMutableBufferPointer { buffer in
      var cursor = buffer.baseAddress
      i2d_ECDSA_SIG(pair, &cursor)
    }
    return encoded
  }
}
