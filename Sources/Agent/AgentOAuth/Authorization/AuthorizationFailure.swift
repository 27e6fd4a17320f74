/// Why an answer of the authorization endpoint brings no code (RFC 6749 §4.1.2.1, RFC 9207).
package enum AuthorizationFailure: Error, Sendable {
  /// The answer can't be read as a query.
  case unreadable
  /// The answer has neither a code nor an error.
  case withoutCode
  /// The answer's `state` is not the sign-in's.
  case stateMismatch
  /// A person brought an address to which another sign-in's browser was sent back.
  case anotherAddress
  /// The answer's `iss` is not the provider's.
  case issuerMismatch
  /// The person, or the provider for them, said no.
  case denied
  /// Another error, one that the standards have or `other`.
  case refused(error: String)
}
