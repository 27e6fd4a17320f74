public import AgentModel

/// The URL of a request with an access token (docs/requests.md): `https`, or `http` on a loopback host, without
/// user information and fragment, at an origin that the provider's `allowedOrigins` list, and without a parameter that
/// `RequestNames` refuses.
///
/// The URL is kept in its normal form, so that the URL that is judged is the URL that is requested.
public struct RequestTarget: Hashable, Sendable {
  public let url: HTTPURL
  private let names: RequestNames

  /// Why a URL is refused.
  public enum Refusal: Error, Hashable, Sendable {
    /// The URL is malformed, names user information or a fragment, or is plain `http` to another machine.
    case invalidURL
    /// The provider does not list the URL's origin.
    case originNotAllowed
    /// A parameter of the URL tells another credential, person, method or path.
    case telling(RequestNames.Meaning)
  }

  /// - Parameter allowedOrigins: in normal form.
  public init(_ text: String, allowedOrigins: Set<String>, names: RequestNames = RequestNames()) throws(Refusal) {
    guard let url = HTTPURL(text), url.keepsTokensSecret else { throw .invalidURL }
    guard allowedOrigins.contains(url.origin) else { throw .originNotAllowed }
    if let told = names.parameter(in: url) { throw .telling(told.meaning) }
    (self.url, self.names) = (url, names)
  }

  private init(_ url: HTTPURL, _ names: RequestNames) { (self.url, self.names) = (url, names) }

  /// The entries of `allowedOrigins` in normal form.
  public static func origins(_ texts: [String]) -> Set<String> { Set(texts.compactMap(origin)) }

  /// The normal form of an entry of `allowedOrigins`: scheme, host in lower case, and the port unless it is the default
  /// (RFC 6454 §6.2). Nil for a text that is no origin, such as one with a path: it would suggest a limit that an
  /// origin does not have.
  public static func origin(_ text: String) -> String? {
    guard let url = HTTPURL(text), url.keepsTokensSecret, url.path == "/", url.query == nil else { return nil }
    return url.origin
  }

  /// The target of a redirect of this request (RFC 9110 §10.2.2); nil for another origin, allowed or not, for a
  /// parameter that the caller might not have sent either, and for a `Location` that is no URL reference.
  public func redirected(to location: String) -> RequestTarget? {
    guard let url = url.resolving(location), url.origin == self.url.origin, names.parameter(in: url) == nil
    else { return nil }
    return RequestTarget(url, names)
  }
}

extension HTTPURL {
  fileprivate var keepsTokensSecret: Bool { scheme == .https || isLoopback }
}
