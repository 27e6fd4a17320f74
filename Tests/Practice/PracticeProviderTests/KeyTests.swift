import COpenSSL
import Glibc
import LoopbackHTTP
import Testing

import PracticeProvider

@Suite struct KeyTests {
  /// Verifies with the keys that `/jwks` publishes.
  private func verifies(_ token: DecodedJWT, _ practice: Practice) throws -> Bool {
    let keys = try #require(practice.get("/jwks").json?["keys"]?.arrayValue)
    guard let jwk = keys.first(where: { $0["kid"] == token.header["kid"] }) else { return false }
    return try Verifier(jwk).verifies(token)
  }

  private func newIDToken(_ practice: Practice) throws -> DecodedJWT {
    try DecodedJWT(try practice.idp.signIn(user: "alice").idToken)
  }

  @Test(arguments: SigningAlgorithm.allCases, [KeySource.practiceOnlyFixedKeys, .generated])
  func idToken_verifiesWithThePublishedKey(algorithm: SigningAlgorithm, source: KeySource) throws {
    let practice = Practice {
      $0.signingAlgorithm = algorithm
      $0.keySource = source
    }
    let token = try newIDToken(practice)
    #expect(token.header["alg"] == .string(algorithm.rawValue))
    #expect(try verifies(token, practice))
  }

  @Test func idTokenWithAWrongSignature_doesNotVerify() throws {
    for algorithm in SigningAlgorithm.allCases {
      for signature in [Fault.IDTokenSignature.broken, .impostor, .unknownKey] {
        let practice = Practice { $0.signingAlgorithm = algorithm }
        practice.idp.enqueueFault("/token", Fault(.changeIDToken([:], signature: signature)))
        let token = try DecodedJWT(practice.exchange(code: try practice.code())["id_token"])
        #expect(try !verifies(token, practice), "\(algorithm) \(signature)")
      }
    }
  }

  @Test func keyRotation_keepsOrDropsTheOldKey() throws {
    let practice = Practice()
    let old = try newIDToken(practice)
    practice.idp.rotateKeys(keepOld: true)
    let new = try newIDToken(practice)
    #expect(old.header["kid"] != new.header["kid"])
    #expect(try verifies(old, practice))
    #expect(try verifies(new, practice))
    practice.idp.rotateKeys(to: .edDSA, keepOld: false)
    #expect(try !verifies(old, practice))
    #expect(try !verifies(new, practice))
    #expect(try verifies(try newIDToken(practice), practice))
    #expect(
      practice.get("/.well-known/openid-configuration").json?["id_token_signing_alg_values_supported"] == ["EdDSA"])
  }

  @Test(arguments: [SigningAlgorithm.rs256, .edDSA])
  func oneSeed_givesTheSameTokensEachRun(algorithm: SigningAlgorithm) throws {
    let run = { (seed: UInt64) in
      let practice = Practice(seed: seed) { $0.signingAlgorithm = algorithm }
      let first = practice.exchange(code: try practice.code())
      return first.text + practice.refresh(first["refresh_token"]).text
    }
    #expect(try run(1) == run(1))
    #expect(try run(1) != run(2))
  }
}

/// A second implementation: makes an OpenSSL key from a JWK.
private struct Verifier {
  let jwk: PracticeJSON

  init(_ jwk: PracticeJSON) { self.jwk = jwk }

  private func bytes(_ name: String) throws -> [UInt8] {
    try #require(jwk[name]?.stringValue.flatMap(Base64URL.decode))
  }

  func verifies(_ token: DecodedJWT) throws -> Bool {
    let message = Array(token.signedPart.utf8)
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    let key = try publicKey()
    defer { EVP_PKEY_free(key) }
    let digest = jwk["alg"] == "RS512" ? EVP_sha512() : jwk["alg"] == "EdDSA" ? nil : EVP_sha256()
    #expect(EVP_DigestVerifyInit(context, nil, digest, nil, key) == 1)
    let signature = jwk["alg"] == "ES256" ? der(token.signature) : token.signature
    return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }

  private func publicKey() throws -> OpaquePointer {
    switch jwk["kty"]?.stringValue {
    case "RSA":
      let der = asn1(0x30, asn1Integer(try bytes("n")) + asn1Integer(try bytes("e")))
      return try der.withUnsafeBufferPointer { buffer in
        var cursor = buffer.baseAddress
        return try #require(d2i_PublicKey(EVP_PKEY_RSA, nil, &cursor, buffer.count))
      }
    case "EC": return try p256Key([0x04] + (try bytes("x")) + (try bytes("y")))
    default:
      let raw = try bytes("x")
      return try #require(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, raw, raw.count))
    }
  }

  private func p256Key(_ point: [UInt8]) throws -> OpaquePointer {
    let builder = OSSL_PARAM_BLD_new()
    defer { OSSL_PARAM_BLD_free(builder) }
    // The builder keeps pointers, to the names too, and copies only at the end.
    let words: [UnsafeMutablePointer<CChar>?] = [strdup("group"), strdup("prime256v1"), strdup("pub")]
    defer { words.forEach { free($0) } }
    let parameters = point.withUnsafeBufferPointer { buffer in
      OSSL_PARAM_BLD_push_utf8_string(builder, words[0], words[1], 0)
      OSSL_PARAM_BLD_push_octet_string(builder, words[2], buffer.baseAddress, buffer.count)
      return OSSL_PARAM_BLD_to_param(builder)
    }
    defer { OSSL_PARAM_free(parameters) }
    let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
    defer { EVP_PKEY_CTX_free(context) }
    #expect(EVP_PKEY_fromdata_init(context) == 1)
    var key: OpaquePointer?
    // EVP_PKEY_PUBLIC_KEY, which Swift does not see: all parameters and the public half.
    #expect(EVP_PKEY_fromdata(context, &key, 0x86, parameters) == 1)
    return try #require(key)
  }

  private func der(_ jose: [UInt8]) -> [UInt8] {
    asn1(0x30, asn1Integer(Array(jose.prefix(32))) + asn1Integer(Array(jose.dropFirst(32))))
  }

  private func asn1Integer(_ bytes: [UInt8]) -> [UInt8] {
    let short = Array(bytes.drop { $0 == 0 })
    return asn1(0x02, (short.first ?? 0x80) >= 0x80 ? [0] + short : short)
  }

  private func asn1(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let count = content.count
    let length: [UInt8] =
      count < 0x80
      ? [UInt8(count)] : count < 0x100 ? [0x81, UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 255)]
    return [tag] + length + content
  }
}
