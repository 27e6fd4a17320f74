/// The tokens of a sign-in.
public struct IssuedTokens: Sendable, Equatable {
  public var accessToken: String
  public var refreshToken: String?
  public var idToken: String?
  public var scopes: [String]
  /// Nil if the sign-in asked for none.
  public var details: [PracticeJSON]?
  public var expiresInSeconds: Int
  /// The family's id, for `revoke(grant:)` and `endOfGrant`.
  public var grant: String
  /// The access token is bound to the key of the request's proof.
  public var isBound = false
}
