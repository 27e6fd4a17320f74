/// How a machine identity gets its tokens, of a provider of the kind `client` (docs/machines.md). Each exchange is this
/// grant: there is no refresh token.
public enum MachineGrant: Hashable, Sendable {
  /// The client's own credentials (RFC 6749 §4.4).
  case clientCredentials
  /// An assertion that the client's key signs (RFC 7523 §2.1).
  case jwtBearer(Assertion)

  /// What the assertion of a `jwtBearer` says beside the client's id, which is its `iss`.
  public struct Assertion: Hashable, Sendable {
    /// `sub`; nil: the client's id.
    public var subject: String?
    /// `aud`; nil: the token endpoint.
    public var audience: String?
    /// Between `iat` and `exp`, in seconds; nil: `usualLifetimeSeconds`.
    public var lifetimeSeconds: Int64?

    public init(subject: String? = nil, audience: String? = nil, lifetimeSeconds: Int64? = nil) {
      (self.subject, self.audience, self.lifetimeSeconds) = (subject, audience, lifetimeSeconds)
    }

    /// The agent sends the assertion at once; the rest is for clocks that differ.
    public static let usualLifetimeSeconds: Int64 = 300
    /// The longest lifetime that Google and most servers take, in seconds.
    public static let longestLifetimeSeconds: Int64 = 3600
  }

  /// The subject of the account: whom an assertion names, or else the client.
  public func subject(ofClient clientID: String) -> String {
    switch self {
    case .clientCredentials: clientID
    case .jwtBearer(let assertion): assertion.subject ?? clientID
    }
  }

  /// The grant itself names and proves the client, which needs no authentication beside it.
  public var provesClient: Bool {
    switch self {
    case .clientCredentials: false
    case .jwtBearer: true
    }
  }
}
