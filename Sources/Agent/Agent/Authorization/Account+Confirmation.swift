package import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import Secrets

/// Has the provider confirm the account where a decision lacks that (docs/offline.md, Confirmations).
///
/// One confirmation runs at a time, and callers that wait share it. It is the agent's own work: a caller that goes away
/// cancels nothing.
extension Account {
  struct Confirmation {
    var isRunning = false
    var pace = ConfirmationPace()
    /// The `reachabilityGeneration` of the last attempt.
    var reachability: UInt64 = 0
    /// Steps that the provider refused, or that did not tell the rights: an exchange takes their place.
    var unhelpful: Set<ConfirmationStep> = []
    /// Whether the provider's last answer beside exchanges is missing; nil if an exchange ended since, which says more.
    var lacksAnswer: Bool?
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private enum StepOutcome {
    case confirmed
    /// The provider does not accept the token here, or did not tell what was asked. An exchange may.
    case refused
    case unavailable(retryAfter: Milliseconds?)
  }

  /// Starts a confirmation, and waits at most `seconds` for its end. Returns at once if the provider was asked too
  /// recently.
  package func confirm(_ question: ProviderQuestion, waitSeconds seconds: Int) async throws(AgentFailure) {
    guard startConfirmation(question), seconds > 0 else { return }
    let background = dependencies.background
    _ = try await withDeadline(seconds: seconds, clock: clock) { () async throws(AgentFailure) -> Bool in
      await background.race { await self.confirmationEnded() } != nil
    }
  }

  private func confirmationEnded() async -> Bool {
    guard confirmation.isRunning else { return true }
    await withCheckedContinuation { confirmation.waiting.append($0) }
    return true
  }

  /// False if none runs now, because the last one is too recent.
  private func startConfirmation(_ question: ProviderQuestion) -> Bool {
    guard loaded?.profile.signInStatus == .signedIn else { return false }
    if confirmation.isRunning { return true }
    let reachability = dependencies.connectivity.reachabilityGeneration
    if confirmation.reachability != reachability {
      confirmation.reachability = reachability
      confirmation.pace.reset()
    }
    guard confirmation.pace.begin(at: clock.boot()) else { return false }
    confirmation.isRunning = true
    if dependencies.background.start({ await self.runConfirmation(question) }) { return true }
    endConfirmation()
    return false
  }

  private func runConfirmation(_ question: ProviderQuestion) async {
    switch await ask(question) {
    case .confirmed: confirmation.pace.succeeded()
    case .refused: confirmation.pace.failed(at: clock.boot())
    case .unavailable(let retryAfter): confirmation.pace.failed(at: clock.boot(), retryAfter: retryAfter)
    }
    endConfirmation()
  }

  private func endConfirmation() {
    confirmation.isRunning = false
    let waiting = confirmation.waiting
    confirmation.waiting = []
    for caller in waiting { caller.resume() }
  }

  private func ask(_ question: ProviderQuestion) async -> StepOutcome {
    guard let name = loaded?.profile.provider.text,
      let provider = try? await dependencies.vault.provider(named: name), let loaded
    else { return .unavailable(retryAfter: nil) }
    let means = ConfirmationMeans(
      rule: provider.rightsRule, hasIntrospection: provider.endpoints.introspection != nil,
      hasToken: standardToken != nil, hasRefreshToken: loaded.grant.refreshToken != nil,
      unhelpful: confirmation.unhelpful)
    let steps = means.steps(for: question)
    guard !steps.isEmpty else { return .refused }
    for step in steps {
      switch await perform(step, at: provider, question, isLast: step == steps.last) {
      case .confirmed: continue
      case .unavailable(let retryAfter): return .unavailable(retryAfter: retryAfter)
      case .refused:
        guard step != .exchange, means.hasRefreshToken else { return .refused }
        return await perform(.exchange, at: provider, question, isLast: true)
      }
    }
    return .confirmed
  }

  private func perform(
    _ step: ConfirmationStep, at provider: Provider, _ question: ProviderQuestion, isLast: Bool
  ) async -> StepOutcome {
    if step == .exchange {
      do throws(AgentFailure) {
        try await refreshSnapshot()
        return .confirmed
      } catch {
        return .unavailable(retryAfter: error.retryAfter)
      }
    }
    guard let loaded, let token = standardToken else { return .refused }
    let (epoch, subject) = (loaded.profile.epoch, loaded.profile.identity.subject)
    let client = dependencies.client(of: provider)
    let rolesAreOwed = loaded.rights?.rolesAreOwed ?? true
    do throws(RightsFailure) {
      let answer: (told: RightsUpdate?, sentAt: BootInstant)
      switch step {
      case .userInfo:
        let (claims, sentAt) = try await client.confirmByUserInfo(token, subject: subject)
        // Where tokens tell the roles, a missing claim says nothing of them.
        let tellsRoles = provider.rightsRule.rolesClaim != nil && (claims.roles != nil || rolesAreOwed)
        if question.roles, !tellsRoles {
          confirmation.unhelpful.insert(.userInfo)
          return .refused
        }
        answer = (
          tellsRoles ? provider.rightsRule.rightsUpdate(userInfo: claims, source: .refresh) : nil, sentAt
        )
      case .entitlements:
        let (told, sentAt) = try await client.entitlements(token, subject: subject)
        answer = (told, sentAt)
      case .introspection, .exchange: answer = (nil, try await client.confirmByIntrospection(token, subject: subject))
      }
      return await keep(answer.told, sentAt: answer.sentAt, epoch: epoch, confirms: isLast)
    } catch {
      switch error {
      case .refused("status401"), .refused("inactive"), .noAccessToken: return .refused
      case .refused:
        confirmation.unhelpful.insert(step)
        return .refused
      case .unavailable(_, let retryAfter):
        confirmation.lacksAnswer = true
        return .unavailable(retryAfter: retryAfter)
      case .offline, .untrusted:
        confirmation.lacksAnswer = true
        return .unavailable(retryAfter: nil)
      }
    }
  }

  /// Makes a confirmation durable, with the rights that came with it. It confirms the account once all steps have told
  /// their part.
  private func keep(
    _ told: RightsUpdate?, sentAt: BootInstant, epoch: UInt64, confirms: Bool
  ) async -> StepOutcome {
    do throws(AgentFailure) {
      let (profile, heard) = try await dependencies.vault.commit { [id] vault throws(AgentFailure) in
        try vault.rights.confirm(told, sentAt: sentAt, epoch: epoch, of: id, confirms: confirms)
      }
      // A sign-in or a later answer may have come first: its profile stays.
      if loaded?.profile.epoch == epoch { loaded?.profile.takeLater(confirmation: profile.lastOnlineAuthAt) }
      confirmation.lacksAnswer = false
      tell(heard)
      return .confirmed
    } catch {
      return .unavailable(retryAfter: nil)
    }
  }
}

extension AccountProfile {
  fileprivate mutating func takeLater(confirmation: TrustedInstant?) {
    guard let confirmation else { return }
    if let known = lastOnlineAuthAt, known.lived > confirmation.lived { return }
    lastOnlineAuthAt = confirmation
  }
}
