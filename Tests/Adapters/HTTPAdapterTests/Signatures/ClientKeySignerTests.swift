import AgentModel
import AgentPorts
import Secrets
import Testing
import TokenSignatures

@Suite struct ClientKeySignerTests {
  let signer = OpenSSLClientKeySigner()
  let message = "header.payload"

  /// Algorithms that the agent signs with; ID tokens may have others.
  static let algorithms: [SignatureAlgorithm] = [.rs256, .rs384, .rs512, .ps256, .es256, .es384, .edDSA]

  @Test(arguments: Self.algorithms)
  func signatureOfAClientKey_isAcceptedByTheVerifier(algorithm: SignatureAlgorithm) throws {
    let key = try SigningKey.of(algorithm)
    let pem = PrivateKey.pem(try key.pem())
    let own = try #require(signer.algorithm(of: pem))
    #expect(key.publicKey.serves(own))
    for other in SignatureAlgorithm.allCases {
      let signature = signer.sign(Secret(text: message), by: pem, algorithm: other)
      #expect((signature != nil) == (key.publicKey.serves(other) && Self.algorithms.contains(other)))
      guard let signature else { continue }
      let verifier = OpenSSLSignatureVerifier()
      let bytes = signature.withBytes { Array($0) }
      #expect(verifier.isValid(bytes, over: Array(message.utf8), by: key.publicKey, algorithm: other))
    }
  }

  @Test func traditionalPEM_isRead() throws {
    let rsa = try SigningKey.of(.rs256).pem("rsa", "-traditional")
    #expect(rsa.withBytes { String(decoding: $0, as: UTF8.self) }.contains("BEGIN RSA PRIVATE KEY"))
    #expect(signer.algorithm(of: .pem(rsa)) == .rs256)
    let curve = try SigningKey.of(.es256).pem("ec")
    #expect(curve.withBytes { String(decoding: $0, as: UTF8.self) }.contains("BEGIN EC PRIVATE KEY"))
    #expect(signer.algorithm(of: .pem(curve)) == .es256)
  }

  @Test func unusablePEM_signsNothing() throws {
    let key = try SigningKey.of(.es256)
    for text in [
      Secret(text: ""), Secret(text: "x"), try key.pem("pkey", "-pubout"),
      // The agent can't ask for the passphrase of an encrypted key.
      try key.pem("pkey", "-aes256", "-passout", "pass:secret"), try SigningKey(.rs256, rsaBits: 1024).pem(),
    ] {
      #expect(signer.algorithm(of: .pem(text)) == nil)
      #expect(signer.sign(Secret(text: message), by: .pem(text), algorithm: .es256) == nil)
    }
  }

  @Test func publicHalfOfAPrivateNumber_isTheCurves() throws {
    func point(_ scalar: [UInt8]) -> (x: [UInt8], y: [UInt8])? {
      signer.publicPoint(ofP256: scalar.withUnsafeBytes { Secret(copying: $0) })
    }
    let zero = [UInt8](repeating: 0, count: 32)
    // 1 gives the base point (SEC 2 §2.4.2).
    let (x, y) = try #require(point(zero.dropLast() + [1]))
    #expect(Base64URL.encode(x) == "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY")
    #expect(Base64URL.encode(y) == "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU")
    let order = try #require(Base64URL.decode("_____wAAAAD__________7zm-q2nF56E87nKwvxjJVE"))
    #expect(point(zero) == nil)
    #expect(point(order) == nil)
    #expect(point(order.dropLast() + [0x50]) != nil)
    #expect(point(zero.dropLast()) == nil)
    let scalar = Secret(SecretBytes(random: 32))
    let (ownX, ownY) = try #require(signer.publicPoint(ofP256: scalar))
    let key = PrivateKey.ellipticCurve(curve: "P-256", x: ownX, y: ownY, scalar: scalar)
    #expect(signer.algorithm(of: key) == .es256)
  }
}
