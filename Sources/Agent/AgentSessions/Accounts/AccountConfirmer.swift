package import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
package import AgentStore
internal import Secrets

/// Has the provider confirm one account where a decision lacks that (docs/offline.md, Confirmations).
///
/// One confirmation runs at a time, and callers that wait share it. It is the agent's own work: a caller that goes away
/// cancels nothing. A part of `Account`, to which all its functions are isolated.
final class AccountConfirmer {
  private enum StepOutcome {
    case confirmed
    /// The provider does not accept the token here, or did not tell what was asked. An exchange may.
    case refused
    case unavailable(retryAfter: Milliseconds?)
  }

  /// Whether the provider's last answer beside exchanges is missing; nil if an exchange ended since, which says more.
  private(set) var lacksAnswer: Bool? { didSet { if lacksAnswer != oldValue { decisions.withdraw(id) } } }
  private let id: AccountID
  private let decisions: DecisionCache
  private var isRunning = false
  private var pace = ConfirmationPace()
  /// The `reachabilityGeneration` of the last attempt.
  private var reachability: UInt64 = 0
  /// Steps that the provider refused, or that did not tell the rights: an exchange takes their place.
  private var unhelpful: Set<ConfirmationStep> = []
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(_ id: AccountID, decisions: DecisionCache) {
    self.id = id
    self.decisions = decisions
  }

  // MARK: events of the account

  func exchangeEnded() { lacksAnswer = nil }

  func signedIn() {
    pace.reset()
    lacksAnswer = nil
  }

  /// The provider may help now where it did not.
  func configurationChanged() {
    pace.reset()
    unhelpful = []
  }

  // MARK: confirmations

  /// False if none runs now, because the last one is too recent.
  func start(_ question: ProviderQuestion, of account: isolated Account) -> Bool {
    guard account.loaded?.profile.signInStatus == .signedIn else { return false }
    if isRunning { return true }
    let reachability = account.dependencies.connectivity.reachabilityGeneration
    if self.reachability != reachability {
      self.reachability = reachability
      pace.reset()
    }
    guard pace.begin(at: account.clock.boot()) else { return false }
    isRunning = true
    if account.dependencies.background.start({ await Self.run(question, of: account) }) { return true }
    end()
    return false
  }

  /// Waits for the end of the confirmation that runs.
  static func ended(of account: isolated Account) async {
    let confirmer = account.confirmer
    if confirmer.isRunning { await withCheckedContinuation { confirmer.waiting.append($0) } }
  }

  private static func run(_ question: ProviderQuestion, of account: isolated Account) async {
    let confirmer = account.confirmer
    switch await confirmer.ask(question, of: account) {
    case .confirmed where question.time && account.isClockSuspect:
      // A provider that sends no date is not asked again and again: each exchange may rotate the token.
      confirmer.pace.failed(at: account.clock.boot())
    case .confirmed: confirmer.pace.succeeded()
    case .refused: confirmer.pace.failed(at: account.clock.boot())
    case .unavailable(let retryAfter): confirmer.pace.failed(at: account.clock.boot(), retryAfter: retryAfter)
    }
    confirmer.end()
  }

  private func end() {
    isRunning = false
    let ended = waiting
    waiting = []
    for caller in ended { caller.resume() }
  }

  private func ask(_ question: ProviderQuestion, of account: isolated Account) async -> StepOutcome {
    guard let provider = try? await account.dependencies.vault.receiver(ofTokensOf: account.id),
      let loaded = account.loaded
    else { return .unavailable(retryAfter: nil) }
    if let secret = provider.configuration.secret, secret.whoami == nil { return .refused }
    // Userinfo and introspection tell of persons and of tokens; the grant itself confirms a machine.
    if loaded.profile.kind == .client {
      return await perform(.exchange, of: account, at: provider, question, isLast: true)
    }
    let means = ConfirmationMeans(
      rule: provider.rightsRule, hasIntrospection: provider.endpoints.introspection != nil,
      hasToken: account.tokens.standard(of: account) != nil, hasRefreshToken: loaded.grant.refreshToken != nil,
      unhelpful: unhelpful)
    let steps = means.steps(for: question)
    guard !steps.isEmpty else { return .refused }
    for step in steps {
      switch await perform(step, of: account, at: provider, question, isLast: step == steps.last) {
      case .confirmed: continue
      case .unavailable(let retryAfter): return .unavailable(retryAfter: retryAfter)
      case .refused:
        guard step != .exchange, means.hasRefreshToken else { return .refused }
        return await perform(.exchange, of: account, at: provider, question, isLast: true)
      }
    }
    return .confirmed
  }

  private func perform(
    _ step: ConfirmationStep, of account: isolated Account, at provider: Provider, _ question: ProviderQuestion,
    isLast: Bool
  ) async -> StepOutcome {
    if step == .exchange {
      do throws(AgentFailure) {
        try await account.refreshSnapshot()
        return .confirmed
      } catch {
        return .unavailable(retryAfter: error.retryAfter)
      }
    }
    guard let loaded = account.loaded, let token = account.tokens.standard(of: account) else { return .refused }
    let (epoch, subject) = (loaded.profile.epoch, loaded.profile.identity.subject)
    let requests = RightsRequests(
      by: account.dependencies.client(of: provider), keySets: account.dependencies.keySets)
    let rolesAreOwed = loaded.rights?.rolesAreOwed ?? true
    do throws(RightsFailure) {
      let answer: (told: RightsUpdate?, sentAt: BootInstant)
      switch step {
      case .userInfo:
        let (claims, sentAt) = try await requests.confirmByUserInfo(token, subject: subject)
        // Where tokens tell the roles, a missing claim says nothing of them.
        let tellsRoles = provider.rightsRule.rolesClaim != nil && (claims.roles != nil || rolesAreOwed)
        if question.roles, !tellsRoles {
          unhelpful.insert(.userInfo)
          return .refused
        }
        answer = (
          tellsRoles ? provider.rightsRule.rightsUpdate(userInfo: claims, source: .refresh) : nil, sentAt
        )
      case .entitlements:
        let (told, sentAt) = try await requests.entitlements(token, subject: subject)
        answer = (told, sentAt)
      case .introspection, .exchange:
        answer = (nil, try await requests.confirmByIntrospection(token.token, subject: subject))
      }
      return await keep(answer.told, sentAt: answer.sentAt, epoch: epoch, of: account, confirms: isLast)
    } catch {
      switch error {
      case .refused("status401"), .refused("inactive"), .noAccessToken: return .refused
      case .refused:
        unhelpful.insert(step)
        return .refused
      case .unavailable(_, let retryAfter):
        lacksAnswer = true
        return .unavailable(retryAfter: retryAfter)
      case .offline, .untrusted, .redirected:
        lacksAnswer = true
        return .unavailable(retryAfter: nil)
      }
    }
  }

  /// Makes a confirmation durable, with the rights that came with it. It confirms the account once all steps have told
  /// their part.
  private func keep(
    _ told: RightsUpdate?, sentAt: BootInstant, epoch: UInt64, of account: isolated Account, confirms: Bool
  ) async -> StepOutcome {
    do throws(AgentFailure) {
      let (profile, change) = try await account.dependencies.vault.commit { [id] vault throws(AgentFailure) in
        try vault.rights.confirm(told, sentAt: sentAt, epoch: epoch, of: id, confirms: confirms)
      }
      // A sign-in or a later answer may have come first: its profile stays.
      if account.loaded?.profile.epoch == epoch {
        account.loaded?.profile.takeLater(confirmation: profile.lastOnlineAuthAt)
      }
      lacksAnswer = false
      account.adopt(change)
      return .confirmed
    } catch {
      return .unavailable(retryAfter: nil)
    }
  }
}

extension Account {
  /// Starts a confirmation, and waits at most `seconds` for its end. Returns at once if the provider was asked too
  /// recently.
  package func confirm(_ question: ProviderQuestion, waitSeconds seconds: Int) async throws(AgentFailure) {
    guard confirmer.start(question, of: self), seconds > 0 else { return }
    let background = dependencies.background
    _ = try await withDeadline(seconds: seconds, clock: clock) { () async throws(AgentFailure) -> Bool in
      await background.race { await AccountConfirmer.ended(of: self) } != nil
    }
  }
}

extension Account {
  fileprivate var isClockSuspect: Bool {
    guard let profile = loaded?.profile else { return false }
    return dependencies.time.reading(for: profile.provider, since: profile.lastOnlineAuthAt).clock == .suspect
  }
}

extension AccountProfile {
  fileprivate mutating func takeLater(confirmation: TrustedInstant?) {
    guard let confirmation else { return }
    if let known = lastOnlineAuthAt, known.lived > confirmation.lived { return }
    lastOnlineAuthAt = confirmation
  }
}
