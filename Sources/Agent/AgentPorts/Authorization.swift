public import AgentModel
public import Secrets

extension HTTPField {
  /// A credential at its place in a request; nil if that is in the URL (`HTTPRequest.place`).
  public init?(_ credential: Secret, at placement: SecretPlacement) {
    guard let name = placement.fieldName else { return nil }
    var value = SecretBuilder(capacity: credential.count + 16)
    credential.withBytes { bytes in placement.writeField(bytes) { value.append($0) } }
    self.init(name, secret: value.finish())
  }

  /// A bearer token (RFC 6750 §2.1).
  public static func bearer(_ token: Secret) -> HTTPField { HTTPField(token, at: .bearer)! }

  /// HTTP Basic authentication of a confidential client (RFC 6749 §2.3.1): id and secret form-encoded, joined by a
  /// colon, in Base64.
  public static func basic(clientID: String, clientSecret: Secret) -> HTTPField {
    var value = SecretBuilder()
    value.append("Basic ")
    var encoder = Base64.Encoder()
    PercentCoding.encode(clientID.utf8, form: true) { encoder.append($0) { value.append($0) } }
    encoder.append(UInt8(ascii: ":")) { value.append($0) }
    clientSecret.withBytes { bytes in
      PercentCoding.encode(bytes, form: true) { encoder.append($0) { value.append($0) } }
    }
    encoder.finish { value.append($0) }
    return HTTPField("Authorization", secret: value.finish())
  }
}

extension HTTPRequest {
  /// Puts a credential to its place: into a field, or into the URL as it leaves.
  public mutating func place(_ credential: Secret, at placement: SecretPlacement) {
    if let field = HTTPField(credential, at: placement) { return fields.append(field) }
    guard let url = parsedURL ?? HTTPURL(url) else { return }
    var target = SecretBuilder()
    credential.withBytes { bytes in placement.writeTarget(of: url, bytes) { target.append($0) } }
    self.target = target.finish()
  }
}
