internal import AgentModel
public import Secrets

/// A form body (RFC 6749 appendix B) built in guarded memory: codes, tokens and client secrets are encoded from guarded
/// memory into guarded memory.
///
///     var form = FormBody()
///     form.append("grant_type", "refresh_token")
///     form.append("refresh_token", refreshToken)
///     request.body = form.finish()
public struct FormBody: ~Copyable {
  /// The media type, for `Content-Type`.
  public static let mediaType = "application/x-www-form-urlencoded"

  private var body = SecretBuilder(capacity: 1024)

  public init() {}

  /// Continues a form that was finished.
  public init(continuing finished: Secret) { finished.withBytes { body.append($0) } }

  /// Appends a parameter with a public value.
  public mutating func append(_ name: String, _ text: String) {
    begin(name)
    PercentCoding.encode(text.utf8, form: true) { body.append($0) }
  }

  /// Appends a parameter with a secret value.
  public mutating func append(_ name: String, _ secret: Secret) {
    begin(name)
    secret.withBytes { bytes in PercentCoding.encode(bytes, form: true) { body.append($0) } }
  }

  private mutating func begin(_ name: String) {
    if body.count > 0 { body.append(UInt8(ascii: "&")) }
    PercentCoding.encode(name.utf8, form: true) { body.append($0) }
    body.append(UInt8(ascii: "="))
  }

  /// The finished body.
  public consuming func finish() -> Secret { body.finish() }
}
