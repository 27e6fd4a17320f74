import COpenSSL

/// The algorithms the provider can sign with, by their JOSE names (RFC 7518 section 3.1, RFC 8037).
public enum SigningAlgorithm: String, Sendable, CaseIterable, Codable {
  case rs256 = "RS256"
  case rs512 = "RS512"
  case es256 = "ES256"
  case edDSA = "EdDSA"
}

/// A private key with its id and its public half as a JWK.
package final class SigningKey: @unchecked Sendable {
  // An EVP_PKEY never changes after it was created, and each signature has a context of its own.
  private let key: OpaquePointer
  let algorithm: SigningAlgorithm
  let id: String

  package init(_ algorithm: SigningAlgorithm, id: String, material: KeyMaterial) {
    self.algorithm = algorithm
    self.id = id
    // The key material is built in or generated here; a failure means that OpenSSL itself is broken.
    guard let key = material.makeKey() else { fatalError("OpenSSL refused a key for \(algorithm.rawValue)") }
    self.key = key
  }

  deinit { EVP_PKEY_free(key) }

  /// The signature in its JOSE form.
  package func sign(_ message: [UInt8]) -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    let digest: OpaquePointer? =
      switch algorithm {
      case .rs256, .es256: EVP_sha256()
      case .rs512: EVP_sha512()
      case .edDSA: nil  // Ed25519 hashes by itself
      }
    var length = 0
    guard EVP_DigestSignInit(context, nil, digest, nil, key) == 1,
      EVP_DigestSign(context, nil, &length, message, message.count) == 1
    else { fatalError("OpenSSL could not begin a signature") }
    var signature = [UInt8](repeating: 0, count: length)
    guard EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else {
      fatalError("OpenSSL could not sign")
    }
    signature = Array(signature.prefix(length))
    return algorithm == .es256 ? Self.joseSignature(fromDER: signature) : signature
  }

  /// The public half (RFC 7517, RFC 7518 section 6, RFC 8037 section 2).
  package var jwk: PracticeJSON {
    let common: [PracticeJSON.Member] = [
      .init("kid", .string(id)), .init("use", "sig"), .init("alg", .string(algorithm.rawValue)),
    ]
    let material: [PracticeJSON.Member] =
      switch algorithm {
      case .rs256, .rs512:
        [
          .init("kty", "RSA"), .init("n", .string(Base64URL.encode(number("n")))),
          .init("e", .string(Base64URL.encode(number("e")))),
        ]
      case .es256:
        [
          .init("kty", "EC"), .init("crv", "P-256"), .init("x", .string(Base64URL.encode(number("qx", bytes: 32)))),
          .init("y", .string(Base64URL.encode(number("qy", bytes: 32)))),
        ]
      case .edDSA:
        [.init("kty", "OKP"), .init("crv", "Ed25519"), .init("x", .string(Base64URL.encode(rawPublicKey())))]
      }
    return .object(material + common)
  }

  private func number(_ name: String, bytes: Int? = nil) -> [UInt8] {
    var value: OpaquePointer?
    guard EVP_PKEY_get_bn_param(key, name, &value) == 1 else { fatalError("no \(name) in a key") }
    defer { BN_free(value) }
    let length = bytes ?? Int(BN_num_bits(value) + 7) / 8
    var output = [UInt8](repeating: 0, count: length)
    BN_bn2binpad(value, &output, Int32(length))
    return output
  }

  private func rawPublicKey() -> [UInt8] {
    var length = 32
    var output = [UInt8](repeating: 0, count: length)
    EVP_PKEY_get_raw_public_key(key, &output, &length)
    return output
  }

  /// RFC 7518 section 3.4: R and S side by side, 32 bytes each, instead of OpenSSL's DER.
  private static func joseSignature(fromDER der: [UInt8]) -> [UInt8] {
    der.withUnsafeBufferPointer { buffer in
      var cursor = buffer.baseAddress
      let signature = d2i_ECDSA_SIG(nil, &cursor, buffer.count)
      defer { ECDSA_SIG_free(signature) }
      var output = [UInt8](repeating: 0, count: 64)
      output.withUnsafeMutableBufferPointer { half in
        BN_bn2binpad(ECDSA_SIG_get0_r(signature), half.baseAddress, 32)
        BN_bn2binpad(ECDSA_SIG_get0_s(signature), half.baseAddress! + 32, 32)
      }
      return output
    }
  }
}

/// The private part of a key.
package enum KeyMaterial {
  case rsaDER([UInt8])
  case generatedRSA
  /// 32 bytes: the scalar of a P-256 key.
  case p256([UInt8])
  /// 32 bytes: the seed of an Ed25519 key.
  case ed25519([UInt8])

  fileprivate func makeKey() -> OpaquePointer? {
    switch self {
    case .rsaDER(let der): return Self.decode(der, type: EVP_PKEY_RSA)
    case .generatedRSA: return Self.generateRSA()
    case .p256(let scalar):
      // An ECPrivateKey (RFC 5915) without its public half, which OpenSSL computes.
      let head: [UInt8] = [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20]
      let curve: [UInt8] = [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
      return Self.decode(head + scalar + curve, type: EVP_PKEY_EC)
    case .ed25519(let seed): return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count)
    }
  }

  private static func decode(_ der: [UInt8], type: Int32) -> OpaquePointer? {
    der.withUnsafeBufferPointer { buffer in
      var cursor = buffer.baseAddress
      return d2i_PrivateKey(type, nil, &cursor, buffer.count)
    }
  }

  private static func generateRSA() -> OpaquePointer? {
    let context = EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, nil)
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048) == 1,
      EVP_PKEY_keygen(context, &key) == 1
    else { return nil }
    return key
  }
}
