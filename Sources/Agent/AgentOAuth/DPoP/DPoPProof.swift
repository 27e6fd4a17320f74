package import AgentModel
package import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// The proof that the sender of one request has a key (RFC 9449 §4.2). Within its short life it is as good as the
/// signature of the key for that request, so that it is made in guarded memory.
package struct DPoPProof {
  /// RFC 9449 §4.2 asks for 96 bits at least.
  static let idBytes = 18

  var method: String
  var url: HTTPURL
  /// Single use: servers remember it.
  var id: String
  /// By the provider's time, as far as it is known.
  var now: Timestamp
  /// The token that the request carries; nil at the token endpoint.
  var accessToken: Secret?
  /// What the server told in `DPoP-Nonce`.
  var nonce: String?

  package init(
    method: String,
    url: HTTPURL,
    id: String,
    now: Timestamp,
    accessToken: Secret? = nil,
    nonce: String? = nil
  ) {
    self.method = method
    self.url = url
    self.id = id
    self.now = now
    self.accessToken = accessToken
    self.nonce = nonce
  }

  /// Nil without a cryptographic library.
  package func signed(by key: DeviceKey, with signer: any ClientKeySigner) -> Secret? {
    let header = SecretJSON.write { writer in
      writer.member("typ", "dpop+jwt")
      writer.member("alg", SignatureAlgorithm.es256.rawValue)
      writer.key("jwk")
      key.writePublicJWK(to: &writer)
    }
    let claims = SecretJSON.write { writer in
      writer.member("jti", id)
      writer.member("htm", method)
      // Without query and fragment (§4.2), in the spelling that the request has.
      writer.member("htu", url.origin + url.path)
      writer.member("iat", now.milliseconds / 1000)
      writer.member("ath", accessToken?.withBytes { Base64URL.encode(sha256($0)) })
      writer.member("nonce", nonce)
    }
    return CompactJWS.signed(header: header, claims: claims, by: key.material, .es256, with: signer)
  }
}
