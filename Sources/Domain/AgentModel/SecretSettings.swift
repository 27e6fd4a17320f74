/// What a provider of the kind `secret` says of the secrets of its accounts (docs/secrets.md).
public struct SecretSettings: Hashable, Sendable {
  /// Where the secret stands in a request.
  public var placement = SecretPlacement.bearer
  /// The request that confirms a secret and names its person; nil: only `account.add` confirms one.
  public var whoami: WhoAmI?
  /// The request that ends a secret; nil: it can't be ended from here.
  public var revoke: Revocation?
  /// The variables from which programs read the secret.
  public var environment: [String] = []

  public init() {}

  /// The request that confirms a secret. Its 200 is the confirmation.
  public struct WhoAmI: Hashable, Sendable {
    /// At an origin that the provider allows.
    public var url: String
    /// A JSON Pointer to the subject (RFC 6901), and further ones.
    public var subject: String
    public var name: String?
    public var email: String?
    public var roles: String?

    public init(url: String, subject: String, name: String? = nil, email: String? = nil, roles: String? = nil) {
      (self.url, self.subject, self.name, self.email, self.roles) = (url, subject, name, email, roles)
    }
  }

  /// The request that ends a secret.
  public struct Revocation: Hashable, Sendable {
    public var method: String
    /// At an origin that the provider allows.
    public var url: String
    /// With `{secret}` in it the secret stands there, and else at its usual place.
    public var body: String?

    public init(method: String, url: String, body: String? = nil) {
      (self.method, self.url, self.body) = (method, url, body)
    }
  }
}
