package import AgentModel
package import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// An assertion that a client signs: to authenticate itself (RFC 7523 §2.2, OpenID Connect Core §9), or as the grant
/// itself (RFC 7523 §2.1). Until it expires it is as good as the client's secret, so that it is made in guarded memory.
package struct ClientAssertion {
  static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
  /// The client sends it at once. Servers allow up to five minutes; the rest is for clocks that differ.
  static let lifetime = Milliseconds.seconds(60)

  var issuer: String
  /// Nil: the assertion names none.
  var subject: String?
  var audience: String?
  /// Single use (RFC 7519 §4.1.7).
  var id: String?
  /// What a grant asks for, as servers that read it in the assertion name it.
  var scope: String?
  /// By the provider's time, as far as it is known.
  var issuedAt: Timestamp
  var lifetime = Self.lifetime

  /// Authenticates the client.
  package init(clientID: String, audience: String, id: String, now: Timestamp) {
    (issuer, subject, issuedAt) = (clientID, clientID, now)
    (self.audience, self.id) = (audience, id)
  }

  /// The grant of a machine identity. Without scopes it asks for those that the server has for it.
  package init(
    _ assertion: MachineGrant.Assertion, ofClient clientID: String, at tokenEndpoint: String, scopes: ScopeSet,
    id: String, now: Timestamp
  ) {
    (issuer, subject) = (clientID, assertion.subject ?? clientID)
    audience = assertion.audience ?? tokenEndpoint
    scope = scopes.isEmpty ? nil : scopes.spaceDelimited
    lifetime = .seconds(assertion.lifetimeSeconds ?? MachineGrant.Assertion.usualLifetimeSeconds)
    (self.id, issuedAt) = (id, now)
  }

  /// A GitHub App (docs.github.com, Generating a JSON Web Token (JWT) for a GitHub App, read on 2026-11-29): it begins a
  /// minute ago, for clocks that differ, and ends within the ten minutes that are allowed.
  init(ofApp appID: String, now: Timestamp) {
    (issuer, subject, audience, id) = (appID, nil, nil, nil)
    issuedAt = now + Milliseconds.seconds(-60)
    lifetime = .seconds(600)
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
      writer.member("iss", issuer)
      writer.member("sub", subject)
      writer.member("aud", audience)
      writer.member("scope", scope)
      writer.member("jti", id)
      writer.member("iat", issuedAt.milliseconds / 1000)
      writer.member("exp", (issuedAt + lifetime).milliseconds / 1000)
    }
    return CompactJWS.signed(header: header, claims: claims, by: key.material, algorithm, with: signer)
  }
}
