internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
package import AgentRecords
internal import AgentSessions
package import AgentSignIn
internal import AgentStore

/// Asks the providers whether they answer, only on a caller's request: each provider sees that it was asked.
package struct ProviderDiagnosis: Sendable {
  /// A provider that hangs must not hold up the others; more than a few at once would look like an attack from here.
  private static let askedAtOnce = 4

  let setup: ProviderSetup

  package init(by setup: ProviderSetup) { self.setup = setup }

  /// Reads the public documents of the providers that the caller sees, as before a sign-in, and keeps nothing of them.
  package func findings(within limits: EffectiveGrant?) async -> [Finding] {
    // Providers without documents are asked at a sign-in and not before.
    let all = try? await setup.vault.read { vault throws(AgentFailure) in vault.providers.sorted(within: limits) }
    let asked = (all ?? []).filter { !$0.configuration.knowsItsEndpoints }
    return await withTaskGroup(of: (Int, Findings).self) { group in
      var answers = [Findings](repeating: Findings(), count: asked.count)
      for (number, provider) in asked.enumerated() {
        if number >= Self.askedAtOnce, let (done, findings) = await group.next() { answers[done] = findings }
        group.addTask {
          var trial = ProviderTrial(provider: provider)
          _ = await self.readDocuments(into: &trial, until: self.setup.environment.clock.boot() + Self.longestTest)
          return (number, trial.findings)
        }
      }
      for await (number, findings) in group { answers[number] = findings }
      return answers.flatMap(\.list)
    }
  }

  /// Reads the documents of one provider into `provider`; false if they can't be had.
  func diagnose(_ provider: inout Provider, into findings: inout Findings) async -> Bool {
    let name = provider.configuration.name.text
    do throws(AgentFailure) {
      try await setup.discover(&provider)
      findings.sound("providerReach", "The provider \(name) answers.")
      if let ignored = provider.ignoredEndpoints {
        findings.notice(
          "providerPlainHTTP",
          "The provider \(name) names addresses that the agent does not use, since they are no whole https addresses or are "
            + "on this machine: \(ignored.map(\.found).joined(separator: ", ")).",
          "Ask the administrator of the provider for addresses with https.")
      }
      if provider.refusesItsRevocations {
        findings.notice(
          "revocationRefused",
          "The provider \(name) revokes tokens only for clients that authenticate in a way that is not configured here: "
            + "after a sign-out its tokens stay valid until they expire.",
          "Ask the administrator of the provider for a client secret, and add the provider with it.",
          "After each sign-out, end the session at the provider's own page.")
      }
    } catch {
      findings.problem("providerReach", error.message, subject: name, remedy(for: error))
      return false
    }
    return true
  }

  func remedy(for error: AgentFailure) -> String {
    if case .provider(.document(.offline(.proxy))) = error {
      return "Check the proxy's address and its credentials. Cached tokens are still served."
    }
    return switch error.kind {
    case .offline: "Check the network and the provider's address. Cached tokens are still served."
    case .untrustedServer:
      "Do not sign in there before the provider's administrator has explained this: an attacker may intercept the connection."
    default: "Try again later; if it stays so, ask the administrator of the provider."
    }
  }
}
