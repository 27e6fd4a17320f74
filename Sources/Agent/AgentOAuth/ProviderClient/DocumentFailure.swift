package import AgentModel
internal import AgentPorts

/// Why a document of the provider could not be read.
package enum DocumentFailure: Error, Sendable {
  case offline(ConnectFailure), untrusted(TrustFailure), malformed
  /// `retryAfter` is what the server asked for.
  case unavailable(status: Int, retryAfter: Milliseconds? = nil)
  /// A page for people, as a captive portal sends it, or a server that answers every path with its own.
  case page
  /// The document names another issuer than the one that it was asked for (RFC 8414 §3.3).
  case issuerMismatch
  /// Its address leads to this other origin, or nil if its redirects are not followed for another reason. Nothing was sent
  /// there.
  case redirected(to: String?)

  /// Another try may find the document. Status 0: the answer was lost.
  package var isTemporary: Bool {
    switch self {
    case .offline: true
    case .unavailable(let status, _): status == 0 || status == 429 || status >= 500
    case .untrusted, .malformed, .page, .issuerMismatch, .redirected: false
    }
  }

  /// The provider answered that there is no document which discovery could read.
  package var isNoDocument: Bool {
    switch self {
    case .unavailable: !isTemporary
    case .malformed, .page, .redirected: true
    case .offline, .untrusted, .issuerMismatch: false
    }
  }

  /// The provider gave no answer about its document, so that its content is unknown.
  var isInconclusive: Bool {
    switch self {
    case .offline, .untrusted: true
    case .unavailable: isTemporary
    case .malformed, .page, .issuerMismatch, .redirected: false
    }
  }

  /// Whether the provider offers registration is not known.
  package var leavesRegistrationUnknown: Bool {
    if case .offline = self { true } else { isNoDocument }
  }
}
