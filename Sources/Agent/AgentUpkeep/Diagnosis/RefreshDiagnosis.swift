internal import AgentCore
internal import AgentModel
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

/// Finds an account whose provider was asked in vain, and not with success since. Its state alone does not tell that while
/// a token lives.
struct RefreshDiagnosis {
  let session: SessionFacts

  func findings() -> Findings {
    var findings = Findings()
    // In every other state the person has something to do, which the state's own finding says.
    guard let failed = session.lastError, [.active, .offlineStale].contains(session.state) else { return findings }
    let profile = session.profile
    let isServed = session.accessTokenExpiresAt.map { session.time.now < $0 } ?? false
    // What the provider said is a finding of its own, and no token is missing yet.
    if isServed, failed.kind == .providerMisconfigured { return findings }
    let message = "The last request to the provider \(profile.provider.text) failed: \(Self.cause(of: failed))."
    let remedy = Self.remedy(for: failed, at: profile.provider)
    if isServed {
      findings.notice("session", of: profile, message + " The token that is there is served until it expires.", remedy)
    } else {
      findings.problem(
        "session", message + " There is no token until another one succeeds; the session is kept.",
        subject: profile.name, account: profile.id, remedy)
    }
    return findings
  }

  private static func isOfAPage(_ failed: LastFailure) -> Bool {
    failed.kind == .providerUnavailable && failed.reason.map(FailureClassifier.mayBeOfAPortal) == true
  }

  private static func cause(of failed: LastFailure) -> String {
    switch failed.kind {
    case _ where isOfAPage(failed): "a page came instead of its answer"
    case .offline: "it can't be reached"
    case .untrustedServer: "it could not be trusted"
    case .providerMisconfigured: "it refuses this client"
    case .storeUnavailable: "the agent could not write to its store, so it sent nothing or kept the answer in memory"
    default: "it could not answer, or no answer came"
    }
  }

  private static func remedy(for failed: LastFailure, at provider: ProviderName) -> String {
    let test = "`lanyard provider test \(provider.text)` says what answers."
    return switch failed.kind {
    case _ where isOfAPage(failed): "The network may have a sign-in page: open any page in a browser. \(test)"
    case .offline: "Check the network. \(test)"
    case .storeUnavailable: "Make room on the disk. The agent tries again by itself."
    default: "\(test) The agent tries again by itself."
    }
  }
}
