/// A situation in which the token endpoint refuses, and for which servers have words of their own.
public enum Refusal: String, CaseIterable, Sendable {
  /// The refresh token is revoked, expired or unknown.
  case deadToken
  case disabledPerson
  /// The client is unknown, or its secret is wrong.
  case badClient
  case rateLimit

  /// The refusal in the words of the practice provider.
  func error(_ options: PracticeOptions) -> OAuthError {
    var error =
      switch self {
      case .deadToken: OAuthError.invalidGrant("the refresh token is revoked")
      case .disabledPerson: options.errorOfDisabledUser
      case .badClient: OAuthError.invalidClient(challenge: false)
      // RFC 6585 section 4.
      case .rateLimit: OAuthError(code: "too_many_requests", status: 429, headers: [("Retry-After", "60")])
      }
    error.refusal = self
    return error
  }
}
