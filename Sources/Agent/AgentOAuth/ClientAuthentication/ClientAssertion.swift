package import AgentModel
package import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// The assertion that a client signs to authenticate itself (RFC 7523 §3, OpenID Connect Core §9). Until it expires it
/// is as good as the client's secret, so that it is made in guarded memory.
package struct ClientAssertion {
  static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
  /// The client sends it at once. Servers allow up to five minutes; the rest is for clocks that differ.
  static let lifetime = Milliseconds.seconds(60)

  var clientID: String
  var audience: String
  /// Single use (RFC 7519 §4.1.7).
  var id: String
  /// The provider's time, as far as it is known.
  var now: Timestamp

  package init(clientID: String, audience: String, id: String, now: Timestamp) {
    self.clientID = clientID
    self.audience = audience
    self.id = id
    self.now = now
  }

  /// Nil if the key can't sign.
  package func signed(by key: ClientKey, with signer: any ClientKeySigner) -> Secret? {
    guard let algorithm = key.algorithm ?? signer.algorithm(of: key.material) else { return nil }
    let header = SecretJSON.write { writer in
      writer.member("alg", algorithm.rawValue)
      writer.member("typ", "JWT")
      writer.member("kid", key.keyID)
    }
    let claims = SecretJSON.write { writer in
      writer.member("iss", clientID)
      writer.member("sub", clientID)
      writer.member("aud", audience)
      writer.member("jti", id)
      writer.member("iat", now.milliseconds / 1000)
      writer.member("exp", (now + Self.lifetime).milliseconds / 1000)
    }
    return CompactJWS.signed(header: header, claims: claims, by: key.material, algorithm, with: signer)
  }
}
