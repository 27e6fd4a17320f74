/// What the accounts of a provider hold. The raw values are those of the contract.
public enum AccountKind: String, CaseIterable, Hashable, Sendable {
  /// A sign-in of OpenID Connect or OAuth.
  case openid
  /// A secret that a person was given: an API key, a personal access token, a password.
  case secret
  /// A machine identity, which gets its tokens without a person.
  case client

  /// A person signs in, and may do so as a server demands.
  public var hasSignIn: Bool { self == .openid }
}
