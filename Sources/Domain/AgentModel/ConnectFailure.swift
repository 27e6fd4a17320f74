/// Why no connection to a server was made, or in the last case, why nothing was sent on it.
public enum ConnectFailure: Hashable, Sendable {
  case nameNotFound, refused, unreachable, timedOut, invalidURL, other
  /// The proxy, and not the server, is known to be the cause.
  case proxy(ProxyFailure)
  /// The connection stood, and the request was withdrawn.
  case withheld
  /// This machine lacks the library that makes connections, or the one that signs for the client, so none was attempted.
  case noLibrary(SystemLibrary)

  /// For programs: `data.reason` of an error.
  public var word: String {
    switch self {
    case .nameNotFound: "nameNotFound"
    case .refused: "refused"
    case .unreachable: "unreachable"
    case .timedOut: "timedOut"
    case .invalidURL: "invalidURL"
    case .other: "other"
    case .proxy(let failure): failure.word
    case .withheld: "withheld"
    case .noLibrary: "noLibrary"
    }
  }

  /// The cause is known to be neither the server nor the way to it, so a person looks elsewhere.
  public var isOfThisSide: Bool {
    switch self {
    case .proxy, .noLibrary: true
    case .nameNotFound, .refused, .unreachable, .timedOut, .invalidURL, .other, .withheld: false
    }
  }

  /// There is no way out of this machine: the name of the server or of its proxy was not found, or no route leads there.
  public var isWithoutWay: Bool {
    switch self {
    case .nameNotFound, .unreachable: true
    case .proxy(let failure): failure.cause == .nameNotFound || failure.cause == .unreachable
    case .refused, .timedOut, .invalidURL, .other, .withheld, .noLibrary: false
    }
  }
}

/// What a proxy did instead of connecting to the server.
public struct ProxyFailure: Hashable, Sendable {
  public enum Cause: Hashable, Sendable {
    /// It wants credentials (RFC 9110 §15.5.8, RFC 1928 §3), and its address has none.
    case credentialsMissing
    /// It does not take the credentials in its address.
    case credentialsRefused
    /// It answered CONNECT with this status (RFC 9110 §9.3.6).
    case status(Int)
    case nameNotFound, refused, unreachable
    /// The certificate of an `https` proxy was refused.
    case untrusted(TrustFailure)
    case other
  }

  /// `ProxyAddress.shown`
  public let address: String
  public let cause: Cause

  /// - Parameter proxy: its address, which may have a password: only what may be shown of it is kept.
  public init(_ cause: Cause, of proxy: String) {
    address = ProxyAddress.shown(proxy)
    self.cause = cause
  }

  /// For programs: `data.reason` of an error.
  public var word: String {
    switch cause {
    case .credentialsMissing, .credentialsRefused: "proxyAuthenticationRequired"
    case .status: "proxyRefused"
    case .untrusted: "proxyUntrusted"
    case .nameNotFound, .refused, .unreachable, .other: "proxyUnreachable"
    }
  }

  /// A sentence for a person.
  public var explanation: String {
    switch cause {
    case .credentialsMissing:
      """
      The proxy \(address) wants credentials. They go into its address in the environment: \
      `https_proxy=http://NAME:PASSWORD@HOST:PORT`.
      """
    case .credentialsRefused: "The proxy \(address) does not take the credentials that its address has."
    case .status(let status):
      "The proxy \(address) makes no connection to the server: it answers with status \(status)."
    case .nameNotFound: "The name of the proxy \(address) was not found."
    case .refused: "The proxy \(address) refuses connections."
    case .unreachable: "There is no way to the proxy \(address)."
    case .untrusted(let failure): "The proxy \(address) could not be trusted: \(failure.explanation)."
    case .other: "The proxy \(address) makes no connection to the server."
    }
  }
}
