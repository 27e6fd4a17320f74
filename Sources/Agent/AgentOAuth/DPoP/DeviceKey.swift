internal import AgentModel
package import AgentPorts
package import JSONRPC
internal import SecretJSON
internal import Secrets

/// The P-256 key that the tokens of one grant are bound to (docs/dpop.md, The key).
///
/// The private number is in guarded memory, and in the sealed record of the grant. No method returns it.
package struct DeviceKey: Sendable {
  private let x: [UInt8]
  private let y: [UInt8]
  private let scalar: Secret
  /// The key's thumbprint (RFC 7638), by which a provider names it (`dpop_jkt`, `cnf.jkt`).
  package let thumbprint: String

  private static let byteCount = 32
  /// The order of P-256 is just below 2^256, so that a draw fails about once in 4,000,000,000.
  private static let mostDraws = 8

  private init(x: [UInt8], y: [UInt8], scalar: Secret) {
    (self.x, self.y, self.scalar) = (x, y, scalar)
    thumbprint = JWKThumbprint.of([
      ("crv", "P-256"), ("kty", "EC"), ("x", Base64URL.encode(x)), ("y", Base64URL.encode(y)),
    ])
  }

  /// Makes a new key: a random private number, drawn again if it is none of the curve (FIPS 186-5, appendix A.2.2), and
  /// its public half by the signer. Nil without a cryptographic library.
  package init?(by signer: any ClientKeySigner) {
    for _ in 0..<Self.mostDraws {
      let scalar = Secret(SecretBytes(random: Self.byteCount))
      guard let (x, y) = signer.publicPoint(ofP256: scalar) else { continue }
      self.init(x: x, y: y, scalar: scalar)
      return
    }
    return nil
  }

  var material: PrivateKey { .ellipticCurve(curve: "P-256", x: x, y: y, scalar: scalar) }

  /// The public half as a JWK (RFC 7517), in the header of each proof.
  func writePublicJWK(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("kty", "EC")
    writer.member("crv", "P-256")
    writer.member("x", Base64URL.encode(x))
    writer.member("y", Base64URL.encode(y))
    writer.endObject()
  }

  // MARK: record

  package func write(to writer: inout JSONWriter, as name: String) {
    writer.key(name)
    writer.beginObject()
    writer.member("x", Base64URL.encode(x))
    writer.member("y", Base64URL.encode(y))
    writer.member("d", scalar.withBytes(Secret.base64URL))
    writer.endObject()
  }

  package init?(_ node: JSONNode) {
    guard let x = node["x"]?.string.flatMap({ Base64URL.decode($0) }), x.count == Self.byteCount,
      let y = node["y"]?.string.flatMap({ Base64URL.decode($0) }), y.count == Self.byteCount,
      let scalar = node["d"]?.secretNumber, scalar.count == Self.byteCount
    else { return nil }
    self.init(x: x, y: y, scalar: scalar)
  }
}

/// The thumbprint of a public key (RFC 7638).
package enum JWKThumbprint {
  /// - Parameter members: the members that RFC 7638 §3.2 requires of the key's type, in the order of their names. The
  ///   values need no escapes in JSON.
  package static func of(_ members: [(name: String, value: String)]) -> String {
    var writer = JSONWriter(capacity: 256)
    writer.beginObject()
    for (name, value) in members {
      writer.key(name)
      writer.string(value)
    }
    writer.endObject()
    return writer.withBytes { Base64URL.encode(sha256($0)) }
  }
}
