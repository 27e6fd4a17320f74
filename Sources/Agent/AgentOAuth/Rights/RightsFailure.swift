package import AgentModel

/// Why the provider's answer about a person's rights could not be had. The last snapshot is kept.
package enum RightsFailure: Error, Sendable {
  /// No access token to ask with.
  case noAccessToken
  case untrusted(TrustFailure)
  case offline(ConnectFailure)
  case unavailable(String, retryAfter: Milliseconds? = nil)
  case refused(String)
  /// The address leads to this other origin, or nil if its redirects are not followed for another reason. A portal may do
  /// that for a while.
  case redirected(status: Int, to: String?)
}
