internal import AgentModel
internal import AgentPorts
internal import Secrets

/// The one way to what a provider publishes of itself or says of its tokens: discovery, key sets, registrations, userinfo,
/// introspection and entitlements (docs/providers.md, Documents).
extension ProviderDocuments {
  /// One redirect for a slash at the end, one for a new path, and one more. Servers that need others have a loop.
  static let mostRedirects = 3

  enum Fetched {
    /// Of the last request.
    case outcome(HTTPOutcome)
    /// A redirect that is not followed: to this other origin, or nil if it is none of a read within the origin.
    case redirected(status: Int, to: String?)
  }

  /// Sends a request and follows redirects within its origin, so that a credential goes nowhere else. The request's time
  /// holds for all of them together.
  func fetch(_ request: HTTPRequest, authorizedBy credential: AccessCredential? = nil) async -> Fetched {
    var request = request
    let deadline = client.clock.boot() + request.timeout
    var redirects = 0
    while true {
      let outcome = await send(request, authorizedBy: credential)
      guard case .response(let response) = outcome, let url = HTTPURL(request.url),
        Self.redirects.contains(response.status)
      else { return .outcome(outcome) }
      let next = response.field("Location").flatMap(url.resolving)
      guard let next, next.origin == url.origin else { return .redirected(status: response.status, to: next?.origin) }
      guard redirects < Self.mostRedirects, Self.keeps(request.method, response.status),
        credential?.placement.isInURL != true
      else {
        return .redirected(status: response.status, to: nil)
      }
      redirects += 1
      request.url = next.text
      request.timeout = deadline - client.clock.boot()
      guard request.timeout > .zero else { return .outcome(.unknown(.timedOut)) }
    }
  }

  private static let redirects: Set = [301, 302, 303, 307, 308]

  /// RFC 9110 §15.4: after 301, 302 and 303 a POST may become a GET, which no endpoint of a provider takes.
  private static func keeps(_ method: String, _ status: Int) -> Bool {
    method == "GET" || status == 307 || status == 308
  }

  private func send(_ request: HTTPRequest, authorizedBy credential: AccessCredential?) async -> HTTPOutcome {
    guard let credential else { return await client.send(request) }
    return await client.send(request, authorizedBy: credential)
  }
}

extension ProviderDocuments.Fetched {
  /// Markup where JSON was asked for.
  var isPage: Bool {
    if case .outcome(.response(let response)) = self { response.status == 200 && response.isMarkup } else { false }
  }
}
