package import AgentModel

/// Why the agent could not register itself as a client (RFC 7591). Nothing was changed.
package enum RegistrationFailure: Error, Sendable {
  case offline(ConnectFailure), untrusted(TrustFailure)
  /// The answer was lost.
  case answerLost
  /// The provider registered a client that this agent can't be.
  case unsuitable
  /// The provider registered other redirect addresses than the one that was asked for.
  case otherRedirects
  /// The endpoint leads to this other origin, or nil if its redirects are not followed for another reason.
  case redirected(to: String?)
  /// The provider does not register this agent; its error, where the standards have it.
  case refused(error: String?)
  case unavailable(retryAfter: Milliseconds?)
}
