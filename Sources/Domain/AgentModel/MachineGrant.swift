/// How a machine identity gets its tokens, of a provider of the kind `client` (docs/machines.md). Each exchange is this
/// grant: there is no refresh token.
public enum MachineGrant: Hashable, Sendable {
  /// The client's own credentials (RFC 6749 §4.4).
  case clientCredentials
  /// An assertion that the client's key signs (RFC 7523 §2.1).
  case jwtBearer(Assertion)
  /// An installation of a GitHub App, whose token is asked for with an assertion that the app's key signs.
  case githubApp(Installation)
  /// The token in a file, which a platform renews (RFC 8693 §2.1). It is read anew for each exchange.
  case tokenFile(path: String)

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

  /// An installation of a GitHub App.
  public struct Installation: Hashable, Sendable {
    /// The app's id or client id: `iss` of its assertions.
    public var appID: String
    /// The number of the installation.
    public var number: String

    public init(appID: String, number: String) { (self.appID, self.number) = (appID, number) }

    /// Where github.com gives the installation's tokens.
    public var usualTokenEndpoint: String { "https://api.github.com/app/installations/\(number)/access_tokens" }

    /// Where a token ends that was asked for at `tokenEndpoint`, of github.com or of a server of one's own; nil if that
    /// is no address of this installation's tokens.
    public func revocationEndpoint(ofTokensOf tokenEndpoint: String) -> String? {
      let place = "/app/installations/\(number)/access_tokens"
      guard tokenEndpoint.hasSuffix(place) else { return nil }
      return tokenEndpoint.dropLast(place.count) + "/installation/token"
    }
  }

  /// The subject of the account: whom an assertion names, the installation, or else the client; without a client the file.
  public func subject(ofClient clientID: String) -> String {
    switch self {
    case .clientCredentials: clientID
    case .jwtBearer(let assertion): assertion.subject ?? clientID
    case .githubApp(let installation): "installation:\(installation.number)"
    case .tokenFile(let path): clientID.isEmpty ? "file:\(path)" : clientID
    }
  }

  /// The grant itself names and proves the client, which needs no authentication beside it.
  public var provesClient: Bool {
    switch self {
    case .clientCredentials, .tokenFile: false
    case .jwtBearer, .githubApp: true
    }
  }
}
