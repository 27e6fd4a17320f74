internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol

extension AgentFailure {
  static let signInExpired = signInFailed("expired", "Nobody signed in in time. Begin again; nothing was changed.")
  static let signInCancelled = signInFailed("cancelled", "The sign-in was cancelled. Nothing was changed.")

  /// Why the token endpoint gave no tokens for a sign-in. A way that is closed says so with its own code.
  static func signInFailed(_ failure: ExchangeFailure) -> AgentFailure {
    switch failure {
    case .offline:
      AgentFailure(.offline, "There is no way to the provider. Nothing was kept; try again when you are online.").with {
        $0.remedies = [.connect]
      }
    case .untrustedServer:
      AgentFailure(
        .untrustedServer,
        "The provider could not be trusted: TLS failed, or no pinned key matched. Nothing was sent to it.")
    case .transient(let reason, let pause):
      AgentFailure(.providerUnavailable, "The provider could not answer now. Nothing was kept; try again later.").with {
        $0.reason = reason
        $0.retryAfter = pause
      }
    case .misconfigured(let error):
      AgentFailure(
        .providerMisconfigured, "The provider refuses this client's configuration. Mend it by `provider.update`."
      ).with { $0.details = [("providerError", .text(error))] }
    case .unexplained(let status):
      .signInFailed("refused", "The provider refused, with status \(status), and did not say why. Nothing was kept.")
    case .unknownOutcome:
      .signInFailed("answerLost", "The provider's answer was lost. Nothing was kept; sign in again.")
    case .reauthenticate, .locked, .interaction, .store:
      .signInFailed("refused", "The provider refused. Nothing was kept; sign in again.")
    }
  }

  init(_ end: DevicePolling.End) {
    switch end {
    case .denied: self = .signInFailed("denied", "The sign-in was denied at the provider. Nothing was changed.")
    case .expired: self = .signInExpired
    case .unknownCode:
      self = .signInFailed("refused", "The provider does not know the code any more. Nothing was kept; begin again.")
    case .answerLost: self = .signInFailed(.unknownOutcome("lost"))
    case .failed(let failure): self = .signInFailed(failure)
    }
  }

  init(_ failure: RedirectFailure) {
    switch failure {
    case .portBusy(let port):
      self = .signInFailed(
        "portBusy",
        "Port \(port), where this provider's answers come back, is used by another program. Free it and try again.")
    case .notLoopback:
      self = AgentFailure(
        .providerMisconfigured, "The redirect host is not a loopback address. Mend it by `provider.update`.")
    case .unavailable:
      self = .signInFailed("noListener", "No address could be opened for the browser to come back to.")
    }
  }
}

extension ProviderClient {
  /// Discovery, or why there is none in the words of the contract.
  func discoverOrExplain() async throws(AgentFailure) -> ServerMetadata {
    do throws(DocumentFailure) {
      return try await discover()
    } catch {
      throw error.explained
    }
  }
}

extension ProviderClient.DocumentFailure {
  var explained: AgentFailure {
    switch self {
    case .offline:
      AgentFailure(.offline, "There is no way to the provider. Nothing was changed; try again when you are online.")
        .with {
          $0.remedies = [.connect]
        }
    case .untrusted:
      AgentFailure(.untrustedServer, "The provider could not be trusted: TLS failed, or no pinned key matched.")
    case .unavailable(let status) where status == 0 || status == 429 || status >= 500:
      AgentFailure(.providerUnavailable, "The provider could not answer now. Nothing was changed; try again later.")
    case .unavailable, .malformed:
      AgentFailure(
        .providerMisconfigured,
        "There is no discovery document of this issuer. Check the issuer, or give the endpoints yourself."
      ).with { $0.reason = "noDiscovery" }
    }
  }
}
