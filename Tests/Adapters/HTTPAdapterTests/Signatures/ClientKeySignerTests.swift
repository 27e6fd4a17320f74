import AgentModel
import AgentPorts
import Secrets
import Testing
import TokenSignatures

@Suite struct ClientKeySignerTests {
  let signer = OpenSSLClientKeySigner()
  let message = "header.payload"

  @Test(arguments: SignatureAlgorithm.allCases)
  func signatureOfAClientKey_isAcceptedByTheVerifier(algorithm: SignatureAlgorithm) throws {
    let key = try SigningKey.of(algorithm)
    let pem = PrivateKey.pem(try key.pem())
    let own = try #require(signer.algorithm(of: pem))
    #expect(key.publicKey.serves(own))
    for other in SignatureAlgorithm.allCases {
      let signature = signer.sign(Secret(text: message), by: pem, algorithm: other)
      #expect((signature != nil) == key.publicKey.serves(other))
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
}
