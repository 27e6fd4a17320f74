import AgentModel
import Testing
import TokenSignatures

@Suite struct SignatureTests {
  let verifier = OpenSSLSignatureVerifier()
  let message = Array("header.payload".utf8)

  @Test(arguments: SignatureAlgorithm.allCases)
  func signature_isValidOnlyForItsMessageAndKey(algorithm: SignatureAlgorithm) throws {
    let key = try SigningKey.of(algorithm)
    let signature = try key.sign(message)
    func isValid(_ signature: [UInt8], _ message: [UInt8], _ publicKey: PublicKey? = nil) -> Bool {
      verifier.isValid(signature, over: message, by: publicKey ?? key.publicKey, algorithm: algorithm)
    }
    #expect(isValid(signature, message))
    // Each flipped bit of the signature and of the message.
    for bit in 0..<(signature.count * 8) { #expect(!isValid(Self.flip(signature, bit), message)) }
    for bit in 0..<(message.count * 8) { #expect(!isValid(signature, Self.flip(message, bit))) }
    // Each other length.
    #expect(!isValid([], message) && !isValid(signature, []))
    #expect(!isValid(Array(signature.dropLast()), message) && !isValid(signature + [0], message))
    #expect(!isValid([0] + signature, message) && !isValid(Array(signature.dropFirst()), message))
    #expect(!isValid([UInt8](repeating: 0, count: signature.count), message))
    // Another key of the same kind, and an empty key.
    let other = try SigningKey(algorithm)
    #expect(!isValid(signature, message, other.publicKey))
    #expect(try isValid(other.sign(message), message, other.publicKey))
    #expect(!isValid(signature, message, .rsa(modulus: [], exponent: [])))
    #expect(!isValid(signature, message, .ed25519(x: [])))
  }

  /// Every 256th signature begins with a zero. These were made by openssl, with a key of 2048 bits.
  @Test(arguments: [
    (
      SignatureAlgorithm.rs256, "message 16",
      "AGgTirENscF8ThG0rNWFOcTCuMIAq6IGQJiFRxyzKulUeVtDKJgUiQGO3mpTfVU0HsJ7mCpJwaf2Lots-VCbOHr25tF1dcnAP6qZ"
        + "-K8MTIUKiQTrhvKgGkveadpVUNGYX50F4JNTZqiad0VBIIvFZffkLAxgoE46M-1YNIxkyh55BXpmMIjo0itVGfkINf9X9NL6ucOv"
        + "1IUqH4CJ6FGnV_qYHBULjJ2FPreuW1lYvhaCON_d2Q69UjxrUTaFCslBtvprWjIZKp2K98gY3DCpV1S92HxJqr7Qdhg-dQrdnQ_8"
        + "D12aTOJrqfjlJqaghmhq2Je5DEojw_Uk6qmaYaUTuw"
    ),
    (
      .ps256, "message 47",
      "AHi6KmXOXO_f9_ViZnA8Xofyzx7uEZny3lBwhVktNFK8k-cemx-WDd5QY_hnYKWvkaV6uKHbaYU6s02O_2tf4XsGnAZEIl9g-cgq"
        + "gEsflXMcNQxcEDlqZIlVl9-iOMrtB_5oYS6kG9ogkaEHvRLr7Vyy8BBjKdP6Zr7-uf4bNLuM9r2tg_3Xzv0KP9XLdS8lTG6pwh2y"
        + "ebGfQj6ITB4lyS2o6lwWaDffIiwbxafcvA1a71HPOs7kHPX7xcFDE7v6ULi_irKV9-pKc29ZNCme0Et9p1_yCVnB0lOZaueOTsYL"
        + "Cglk-fchVepy_xj3FNlXIIsbEEFp2lLwk1Yomdt0Fw"
    ),
  ])
  func signatureWithoutItsLeadingZero_isInvalid(algorithm: SignatureAlgorithm, message: String, signature: String)
    throws
  {
    let modulus =
      "q6fBoXhZVsUfR3FzZt_j0V3egMTuVnNmKLFfiG0YkyA7LJXtFHlGp86P0GIHomI6-mZL9XtzrFR8lMt8_oe3MNvuNq5Bgw8MUMo5"
      + "J_b_pd5xIeqdYp1Mw5dVS1zOr3ilOlPAtrCDjGetGAMoIInqYsu0UQOVgK14eWy_5ccAhY84MJWp9roTLXi1UQP-9OUZM8NQ0Wuc"
      + "M4Prbn4cH4cSVMszp7G2uAKIT2gRl-2xU-WGpYB5HnOAnStpcjk7uBRvMffzc30VeR9HHnwHi3PTFzdbiNCkBpG0Yr_EHoXt0Cyf"
      + "8sMZCmIcazM_LGWhNAVlqf_nCYPeb3qnfDyFmLsLuQ"
    let key = try PublicKey.rsa(modulus: #require(Base64URL.decode(modulus)), exponent: [1, 0, 1])
    let signature = try #require(Base64URL.decode(signature))
    #expect(signature.count == 256 && signature[0] == 0)
    func isValid(_ signature: [UInt8]) -> Bool {
      verifier.isValid(signature, over: Array(message.utf8), by: key, algorithm: algorithm)
    }
    #expect(isValid(signature))
    #expect(!isValid(Array(signature.dropFirst())))
  }

  @Test func algorithmWithAKeyOfAnotherType_isInvalid() throws {
    for key in try SigningKey.all.get() {
      let signature = try key.sign(message)
      for algorithm in SignatureAlgorithm.allCases where algorithm != key.algorithm {
        #expect(!verifier.isValid(signature, over: message, by: key.publicKey, algorithm: algorithm))
      }
    }
  }

  @Test(arguments: [1024, 2040]) func rsaKeyBelow2048Bits_isInvalid(bits: Int) throws {
    let key = try SigningKey(.rs256, rsaBits: bits)
    #expect(try !verifier.isValid(key.sign(message), over: message, by: key.publicKey, algorithm: .rs256))
  }

  @Test func rsaExponentOutOfRange_isInvalid() throws {
    let key = try SigningKey.of(.rs256)
    guard case .rsa(let modulus, let exponent) = key.publicKey else { return }
    let signature = try key.sign(message)
    func isValid(_ modulus: [UInt8], _ exponent: [UInt8], _ signature: [UInt8]) -> Bool {
      verifier.isValid(
        signature, over: message, by: .rsa(modulus: modulus, exponent: exponent), algorithm: .rs256)
    }
    #expect(isValid(modulus, exponent, signature) && isValid(modulus, [0] + exponent, signature))
    for wrong: [UInt8] in [[], [0], [1], [2], [3], [1, 0, 0], [UInt8](repeating: 255, count: 9)] {
      #expect(!isValid(modulus, wrong, signature))
    }
    // With the exponent 1 a signature would be the padded hash itself.
    #expect(!isValid(modulus, [1], [0, 1] + [UInt8](repeating: 255, count: 254)))
    #expect(!isValid([UInt8](repeating: 255, count: 1025), exponent, signature))
    #expect(!isValid([UInt8](repeating: 0, count: 256), exponent, signature))
  }

  @Test(arguments: [SignatureAlgorithm.es256, .es384, .es512, .es256K])
  func pointOffTheCurve_isInvalid(algorithm: SignatureAlgorithm) throws {
    let key = try SigningKey.of(algorithm)
    guard case .ellipticCurve(let curve, let x, let y) = key.publicKey else { return }
    let signature = try key.sign(message)
    let zero = [UInt8](repeating: 0, count: x.count)
    for (x, y) in [
      (Self.flip(x, 7), y), (x, Self.flip(y, 7)), (zero, zero), (y, x), ([0] + x, [0] + y),
      (Array(x.dropLast()), Array(y.dropLast())), ([], []),
    ] {
      let wrong = PublicKey.ellipticCurve(curve: curve, x: x, y: y)
      #expect(!verifier.isValid(signature, over: message, by: wrong, algorithm: algorithm))
    }
    for other in EllipticCurve.allCases where other != curve {
      let wrong = PublicKey.ellipticCurve(curve: other, x: x, y: y)
      #expect(!verifier.isValid(signature, over: message, by: wrong, algorithm: algorithm))
    }
  }

  /// The examples of the specifications: RFC 7515 appendix A.3, RFC 8037 appendix A.4.
  @Test(arguments: [
    (
      SignatureAlgorithm.es256,
      [
        "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
      ],
      "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
      "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    ),
    (
      .edDSA, ["11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"],
      "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
      "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    ),
  ])
  func signaturesOfTheRFCs_areValid(algorithm: SignatureAlgorithm, key: [String], message: String, signature: String)
    throws
  {
    let numbers = try key.map { try #require(Base64URL.decode($0)) }
    let publicKey =
      numbers.count == 1
      ? PublicKey.ed25519(x: numbers[0]) : .ellipticCurve(curve: .p256, x: numbers[0], y: numbers[1])
    let signature = try #require(Base64URL.decode(signature))
    #expect(verifier.isValid(signature, over: Array(message.utf8), by: publicKey, algorithm: algorithm))
  }

  @Test func ed448_isVerified() throws {
    let key = try SigningKey(.edDSA, edwardsCurve: "ED448")
    let signature = try key.sign(message)
    func isValid(_ signature: [UInt8], _ publicKey: PublicKey) -> Bool {
      verifier.isValid(signature, over: message, by: publicKey, algorithm: .edDSA)
    }
    #expect(isValid(signature, key.publicKey))
    #expect(!isValid(Self.flip(signature, 5), key.publicKey) && !isValid(Array(signature.dropLast()), key.publicKey))
    #expect(try !isValid(signature, SigningKey.of(.edDSA).publicKey))
    #expect(!isValid(signature, .ed448(x: [])))
  }

  static func flip(_ bytes: [UInt8], _ bit: Int) -> [UInt8] {
    var bytes = bytes
    bytes[bit / 8] ^= 1 << (bit % 8)
    return bytes
  }
}
