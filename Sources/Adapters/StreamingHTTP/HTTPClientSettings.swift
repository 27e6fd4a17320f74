public import AgentModel

/// What holds for all requests of an `HTTPClient`.
public struct HTTPClientSettings: Hashable, Sendable {
  /// How servers are reached, and what proves that they are the right ones, for requests that name nothing of their own
  /// (`OutgoingRequest.trust`): the agent says what counts for a request.
  public var trust = TrustSettings()
  /// HTTP/2 where a TLS server offers it.
  public var allowsHTTP2 = true
  /// A kept connection that is idle for longer is not used: the server may be about to close it, and a request is never
  /// sent twice. Common servers close theirs after 5 s.
  public var longestIdleSeconds = 3
  /// More idle connections than these are closed, the oldest first.
  public var maximumIdleConnections = 8

  /// The defaults.
  public init() {}
}
