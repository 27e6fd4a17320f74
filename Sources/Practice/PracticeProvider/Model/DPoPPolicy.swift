/// Whether the provider binds tokens to a key of the client (RFC 9449).
public enum DPoPPolicy: String, Sendable, Codable {
  case off
  /// A token request with a proof brings bound tokens, one without brings bearer tokens.
  case offered
  /// A token request needs a proof.
  case required
  /// As `required`, and each proof needs a nonce, which works once.
  case nonce
}
