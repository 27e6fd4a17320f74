/// The kind of a token at the revocation and introspection endpoints (RFC 7009 §2.1, RFC 7662 §2.1: `token_type_hint`).
package enum TokenTypeHint: String, Sendable {
  case refreshToken = "refresh_token"
  case accessToken = "access_token"
}
