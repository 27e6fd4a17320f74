internal import AgentModel
internal import AgentPorts
internal import Secrets

/// The compact serialization of a signed JWT (RFC 7515 §7.1), in guarded memory.
enum CompactJWS {
  /// Nil if the key can't sign so.
  static func signed(
    header: Secret, claims: Secret, by key: PrivateKey, _ algorithm: SignatureAlgorithm,
    with signer: any ClientKeySigner
  ) -> Secret? {
    var token = SecretBuilder(capacity: 2048)
    token.append(header.withBytes(Secret.base64URL))
    token.append(UInt8(ascii: "."))
    token.append(claims.withBytes(Secret.base64URL))
    let input = token.withBytes { Secret(copying: $0) }
    guard let signature = signer.sign(input, by: key, algorithm: algorithm) else { return nil }
    token.append(UInt8(ascii: "."))
    token.append(signature.withBytes(Secret.base64URL))
    return token.finish()
  }
}
