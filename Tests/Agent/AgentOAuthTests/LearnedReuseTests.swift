import AgentModel
import Testing

import AgentOAuth

/// What was learned about a provider is told, and allows no replay (docs/tokens.md, The rule).
@Suite struct LearnedReuseTests {
  typealias Reuse = ProviderConfiguration.RefreshRule.Reuse

  private func provider(_ change: (inout ProviderConfiguration) -> Void = { _ in }) -> Provider {
    var configuration = ProviderConfiguration(
      name: ProviderName("idp")!, issuer: "https://idp.example", clientID: "app")
    change(&configuration)
    return Provider(configuration: configuration)
  }

  @Test func learnedNone_isToldAndLeavesTheRuleAsItWas() {
    for scope in [ProviderConfiguration.RevocationScope.family, .grant] {
      var provider = provider { $0.revocationScope = scope }
      let before = provider.refreshRule
      let isNew = provider.learnReuse(broughtAnother: false)
      #expect(isNew && provider.reuse == .none && provider.refreshRuleBasis == .learned)
      #expect(provider.refreshRule == before && before.reuse == .strict)
      #expect(before.onUnknownOutcome == (scope == .grant ? .reauthenticate : .replayLast))
    }
  }

  @Test func oneRotatedAnswer_unlearnsNoneForGood() {
    var provider = provider()
    let learned = [false, true, false].map { provider.learnReuse(broughtAnother: $0) }
    #expect(learned == [true, true, false])
    #expect(provider.reuse == .strict && provider.refreshRuleBasis == .assumed)
  }

  /// A configured rule and a preset's say what happens after a lost answer, so they are worth more.
  @Test(arguments: [(true, nil), (false, "google")] as [(Bool, String?)])
  func noneFromTheConfigurationOrAPreset_isTheRule(isConfigured: Bool, preset: String?) {
    var provider = provider {
      $0.refresh.reuse = .none
      $0.isRefreshConfigured = isConfigured
      $0.preset = preset
    }
    _ = provider.learnReuse(broughtAnother: false)
    #expect(provider.refreshRule.reuse == Reuse.none)
    #expect(provider.refreshRuleBasis == (isConfigured ? .configured : .preset))
  }

  @Test func presetWithAGrace_keepsItAfterALearnedNone() {
    var provider = provider {
      $0.refresh.reuse = .grace
      $0.refresh.graceSeconds = 60
      $0.preset = "okta"
    }
    let isNew = provider.learnReuse(broughtAnother: false)
    #expect(isNew && provider.reuse == .none)
    #expect(provider.refreshRule.reuse == .grace && provider.refreshRule.graceSeconds == 60)
  }
}
