internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentStore

/// Says in words what the trials of a provider showed.
struct ProviderTrial {
  var provider: Provider
  var findings = Findings()

  var name: ProviderName { provider.configuration.name }

  // MARK: servers

  mutating func report(_ key: ServerKey, of host: String, now: Timestamp) {
    switch key {
    case .pin(let pin):
      let pins = provider.configuration.pins(of: host, at: now)
      let message = "The server \(host) proves itself with the key \(pin)."
      if pins.isEmpty || pins.contains(pin) {
        findings.sound("serverKey", message, subject: host)
      } else {
        findings.problem(
          "serverKey", message + " It is none of the \(pins.count) pinned ones, so nothing is sent there.",
          subject: host,
          "Compare the key with what the server's administrator tells you.",
          "`lanyard provider pin \(name.text) \(host) PIN BACKUP` pins other keys.")
      }
    case .failed(let outcome):
      findings.problem(
        "serverKey", "The server \(host) could not be reached over TLS: \(Self.words(outcome)).", subject: host,
        outcome.isOfTrust
          ? "Ask the administrator of the provider." : "Check the network and the provider's address, and try again.")
    }
  }

  // MARK: endpoints

  mutating func reportAuthorization(_ answer: EndpointTrials.Answer, redirectURI: String) {
    let isFixed = provider.configuration.redirect.port != nil
    let shown = Self.portless(redirectURI, isFixed: isFixed)
    if !isFixed, provider.preset?.comparesRedirectPort == true, case .works = answer {
      let title = provider.preset?.title ?? ""
      return findings.problem(
        "authorizationEndpoint",
        "The sign-in by browser begins, but the browser would come back to another port each time, and \(title) "
          + "compares the port of the redirect URI.",
        "Register a redirect URI with a port, such as http://127.0.0.1:8765/callback, and name it: "
          + "`lanyard provider update \(name.text) --redirect 8765`.")
    }
    report(
      answer, "authorizationEndpoint", "The sign-in by browser", works: "begins. The browser comes back to \(shown).",
      "Register the redirect URI \(shown) for the client \(provider.configuration.clientID) at the provider.",
      "Or name another client, other scopes or another redirect: `lanyard help provider update` tells how.")
  }

  mutating func reportToken(_ answer: EndpointTrials.Answer) {
    report(
      answer, "tokenEndpoint", "The token endpoint", works: "takes the client \(provider.configuration.clientID).",
      clientRemedy)
  }

  /// Nil: the provider has no such endpoint.
  mutating func reportDevice(_ answer: EndpointTrials.Answer?) {
    guard let answer else {
      return findings.notice(
        "deviceEndpoint", "The provider \(name.text) names no endpoint for the sign-in by device.",
        "On a machine without a browser, sign in with `lanyard login \(name.text) --paste`.")
    }
    report(
      answer, "deviceEndpoint", "The sign-in by device", works: "begins: `lanyard login \(name.text) --device`.",
      "Ask the administrator of the provider to allow the device flow to this client.")
  }

  mutating func reportRevocation(_ answer: EndpointTrials.Answer?) {
    guard let answer else {
      return findings.notice(
        "revocationEndpoint",
        "The provider \(name.text) names no endpoint for revocations: after a sign-out its tokens stay valid until they "
          + "expire.", "After a sign-out, end the session at the provider's own page.")
    }
    report(
      answer, "revocationEndpoint", "The revocation endpoint", works: "takes the client's revocations.",
      "After a sign-out, end the session at the provider's own page.")
  }

  mutating func reportKeys(_ result: Result<Int, DocumentFailure>) {
    switch result {
    case .success(0):
      findings.problem(
        "signingKeys", "The provider \(name.text) publishes no key that the agent can verify ID tokens with.",
        "Ask the administrator of the provider.")
    case .success(let count):
      let keys = count == 1 ? "a signing key" : "\(count) signing keys"
      findings.sound("signingKeys", "ID tokens can be verified: the provider publishes \(keys).")
    case .failure(let failure):
      findings.problem(
        "signingKeys", "The keys that verify ID tokens could not be read: \(failure.cause).",
        "Try again later; if it stays so, ask the administrator of the provider.")
    }
  }

  /// What only a sign-in shows.
  mutating func reportRefreshing() {
    findings.sound("refreshTokens", Self.words(on: provider))
    if provider.bindsTokens { findings.sound("boundTokens", "Tokens are bound to a key of this machine (DPoP).") }
  }

  /// How the provider rotates refresh tokens, as far as anything tells.
  private static func words(on provider: Provider) -> String {
    let used =
      switch provider.reuse {
      case .none: "a used refresh token stays valid"
      case .grace: "a used refresh token stays valid for \(provider.configuration.refresh.graceSeconds) s"
      case .strict: "a refresh token works once"
      }
    return switch provider.refreshRuleBasis {
    case .assumed:
      "Rotation unknown: the first sign-in shows whether the provider gives refresh tokens and replaces each used one; the "
        + "agent handles both."
    case .preset: "Rotation as known of \(provider.preset?.title ?? "the server"): \(used)."
    case .configured: "Rotation as it was configured: \(used)."
    case .learned: "Rotation as the provider showed it: \(used)."
    }
  }

  private mutating func report(
    _ answer: EndpointTrials.Answer, _ check: String, _ subject: String, works: String, _ remedies: String...
  ) {
    switch answer {
    case .works: findings.sound(check, "\(subject) \(works)")
    case .clientRefused(let error):
      findings.problem(
        check, "\(subject) refuses the client \(provider.configuration.clientID)\(told(error)).",
        remedies: [clientRemedy])
    case .refused(let error, let status):
      findings.problem(
        check, "\(subject) refuses the request\(error == nil ? " with status \(status)" : told(error)).",
        remedies: remedies)
    case .unclear:
      findings.notice(
        check, "\(subject) leads to a page that seems to show an error, which only a person can read.",
        "`lanyard login \(provider.configuration.name.text)` opens it.")
    case .misled:
      findings.problem(
        check, "\(subject) leads to an address without https, and no sign-in goes there.", remedies: remedies)
    case .notThere:
      findings.problem(
        check, "\(subject) has an address at which the provider serves nothing.",
        remedies: ["Ask the administrator of the provider."])
    case .failed(let failure):
      findings.problem(check, "\(subject) could not be tried: \(Self.words(failure)).", remedies: ["Try again later."])
    }
  }

  private var clientRemedy: String {
    "Correct the client's id, its secret or how it authenticates: `lanyard help provider update` tells how."
  }

  private func told(_ error: String?) -> String {
    error.map { ": it says `\(ProviderRefusals.cleaned($0, hiding: provider.clientSecret))`" } ?? ""
  }

  private static func words(_ failure: ExchangeFailure) -> String {
    switch failure {
    case .offline(.proxy(let failure)): "no connection was made. \(failure.explanation.dropLast())"
    case .offline(.noLibrary(let library)): "no connection was made. \(library.missing.dropLast())"
    case .offline: "no connection was made"
    case .untrustedServer(let reason): Self.words(reason)
    case .transient(let word, _) where word.hasPrefix("status"): "it answered with \(word)"
    default: "it did not answer"
    }
  }

  private static func words(_ outcome: HTTPOutcome) -> String {
    switch outcome {
    case .untrusted(let reason): words(.untrustedServer(reason))
    case .notConnected(let failure): words(.offline(failure))
    case .response, .unknown: "it did not answer"
    }
  }

  private static func words(_ reason: TrustFailure) -> String {
    switch reason {
    case .unknownAuthority: "no authority that this machine trusts has signed its certificate"
    case .wrongName: "its certificate is for another name"
    case .expired: "its certificate is not valid now"
    case .pinMismatch: "its key is not the pinned one"
    case .tls: "its TLS is broken or too old"
    }
  }

  /// A URI whose port is drawn for each sign-in, as it is registered.
  private static func portless(_ uri: String, isFixed: Bool) -> String {
    guard !isFixed, let url = HTTPURL(uri) else { return uri }
    return "\(url.scheme.rawValue)://\(url.hostText)\(url.path) (any port)"
  }
}

extension HTTPOutcome {
  fileprivate var isOfTrust: Bool { if case .untrusted = self { true } else { false } }
}
