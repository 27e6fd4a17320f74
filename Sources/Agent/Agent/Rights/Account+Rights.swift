package import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import Secrets

/// Keeps the snapshot of what the person may do, as the provider told it last (docs/offline.md, Snapshots).
///
/// The tokens of an exchange bring a part of it. `Account` asks for the rest afterwards, at userinfo or at the
/// entitlements' address, in the background: no token waits for it, and no refresh fails by it. One question at a time;
/// until it is answered the old snapshot stays, with its age.
extension Account {
  struct RightsFetch {
    var isAsking = false
    /// An exchange came meanwhile: it is asked once more.
    var isDue = false
    var begun: UInt64 = 0
    /// The number of the last question and its failure; nil means success.
    var last: (number: UInt64, failure: AgentFailure?) = (0, nil)
    var waiting: [(after: UInt64, caller: CheckedContinuation<AgentFailure?, Never>)] = []
    /// Since the last exchange.
    var retries = 0
    /// When it is asked again after a failure; nil once it is asked.
    var retryAt: BootInstant?
  }

  /// After this many failures in a row only an exchange, a reconnect or a person asks again.
  private static let mostRetries = 5

  /// The snapshot and its age on the provider's timeline; nil if there is none. Without I/O once the account is loaded.
  package func snapshot() async throws(AgentFailure) -> (snapshot: AuthorizationSnapshot, age: Milliseconds)? {
    try await load()
    guard let loaded else { throw .locked }
    return snapshot(of: loaded)
  }

  /// The same for decisions, which have loaded the account.
  package func snapshot(of loaded: Loaded) -> (snapshot: AuthorizationSnapshot, age: Milliseconds)? {
    loaded.rights.map { rights in
      let snapshot = rights.snapshot
      return (snapshot, dependencies.time.elapsed(since: snapshot.fetchedAt, by: loaded.profile.provider))
    }
  }

  /// Runs an exchange, whose tokens tell the rights, and then asks userinfo and the entitlements' address. For a grant
  /// that can't be exchanged it asks only the latter two.
  package func refreshSnapshot() async throws(AgentFailure) {
    try await load()
    guard let start = loaded else { throw .locked }
    let asked = question.begun
    if start.grant.refreshToken != nil || start.machine.health != .ok {
      // First finish an exchange that a crash interrupted: its answer is older than this request.
      if exchanges.heldAnswer != nil { _ = try? await token(.standard, .usable(minimumLifetime: .zero)) }
      _ = try await token(.standard, .forced)
    } else {
      // The grant can't be exchanged: only userinfo and the entitlements' address can answer anew, with the current
      // token.
      _ = try await token(.standard, .usable(minimumLifetime: .zero))
      let provider = try await dependencies.vault.provider(named: start.profile.provider.text)
      guard provider.tellsBesideTokens else { throw .token(.reauthenticate(reason: "noRefreshToken"), id) }
    }
    let ended = await dependencies.background.race { await self.nextRights(after: asked) }
    guard let ended else { throw Task.isCancelled ? .cancelled : .shuttingDown }
    if let failure = ended.failure { throw failure.attributed(to: id) }
  }

  private struct Ended: Sendable { var failure: AgentFailure? }

  /// The end of a question that was begun after this one.
  private func nextRights(after number: UInt64) async -> Ended {
    if question.last.number > number { return Ended(failure: question.last.failure) }
    return Ended(
      failure: await withCheckedContinuation { caller in
        question.waiting.append((number, caller))
        if !question.isAsking { beginQuestion() }
      })
  }

  /// Resumes the waiters with `error`; the question in flight runs to its end.
  func refuseQuestion(_ error: AgentFailure) {
    let waiting = question.waiting
    question.waiting = []
    for one in waiting { one.caller.resume(returning: error) }
  }

  // MARK: asking

  /// After each exchange and each sign-in. Returns at once.
  func askAboutRights() {
    question.retries = 0
    beginQuestion()
  }

  private func beginQuestion() {
    guard !question.isAsking else {
      question.isDue = true
      return
    }
    question.isAsking = true
    if !dependencies.background.start({ await self.askUntilAnswered() }) { endQuestion(.shuttingDown) }
  }

  private func askUntilAnswered() async {
    repeat {
      question.isDue = false
      question.begun += 1
      question.retryAt = nil
      endQuestion(await ask())
      question.isAsking = question.isDue || !question.waiting.isEmpty
    } while question.isAsking
    planRetry()
  }

  private func endQuestion(_ failure: AgentFailure?) {
    question.isAsking = false
    question.last = (question.begun, failure)
    let waiting = question.waiting
    question.waiting = waiting.filter { $0.after >= question.begun }
    for one in waiting where one.after < question.begun { one.caller.resume(returning: failure) }
  }

  /// Asks userinfo and the entitlements' address for the rights, the second also if the first fails.
  private func ask() async -> AgentFailure? {
    guard let start = loaded else { return .locked }
    let provider: Provider
    do {
      provider = try await dependencies.vault.provider(named: start.profile.provider.text)
    } catch { return error }
    let asksUserInfo =
      provider.rightsRule.rolesClaim != nil && provider.endpoints.userinfo != nil
      && loaded?.rights?.rolesAreOwed == true
    let asksEntitlements = provider.rightsRule.hasEntitlementsURL
    guard asksUserInfo || asksEntitlements else { return nil }
    guard let token = standardToken else { return .rights(.noAccessToken) }
    let client = dependencies.client(of: provider)
    let subject = start.profile.identity.subject
    var failure: AgentFailure?
    if asksUserInfo {
      failure = await hear(start.profile.epoch) { () async throws(RightsFailure) in
        try await client.userInfoRights(token, subject: subject)
      }
    }
    if asksEntitlements {
      let second = await hear(start.profile.epoch) { () async throws(RightsFailure) in
        try await client.entitlements(token, subject: subject)
      }
      failure = failure ?? second
    }
    return failure
  }

  private func hear(
    _ epoch: UInt64, _ question: () async throws(RightsFailure) -> (RightsUpdate, BootInstant)
  ) async -> AgentFailure? {
    do throws(AgentFailure) {
      let told: RightsUpdate
      let sentAt: BootInstant
      do throws(RightsFailure) {
        (told, sentAt) = try await question()
      } catch {
        throw .rights(error)
      }
      let heard = try await dependencies.vault.commit { [id] vault throws(AgentFailure) in
        try vault.rights.keep(told, sentAt: sentAt, epoch: epoch, of: id)
      }
      tell(heard)
      return nil
    } catch {
      // With its session its tokens end, so that what was refused may be that.
      if let gone = await gone(since: epoch) { return gone }
      dependencies.environment.log.log(
        .notice, "snapshot not refreshed",
        [(.account, .hashed(id.text)), (.reason, .name(error.kind.rawValue))])
      return error
    }
  }

  /// Why nothing of this epoch is wanted any more; nil if it is.
  private func gone(since epoch: UInt64) async -> AgentFailure? {
    do throws(AgentFailure) {
      try await dependencies.vault.read { [id] vault throws(AgentFailure) in
        try vault.rights.requireCurrent(id, epoch: epoch)
      }
      return nil
    } catch {
      return error
    }
  }

  /// Takes over what `RightsStore` joined, and tells subscribers. Of two that come in the other order, the later
  /// stands.
  package func tell(_ heard: RightsChange?) {
    guard let heard, let known = loaded else { return }
    if let rights = known.rights, rights.revision >= heard.rights.revision { return }
    loaded?.rights = heard.rights
    if heard.rights.version != known.rights?.version {
      dependencies.events.publish(.snapshotChanged(heard.rights.snapshot), account: id)
    }
  }

  // MARK: asking again

  /// The way is open again: what could not be asked is.
  func retryRights() {
    if question.last.failure?.mayPass == true, loaded != nil { beginQuestion() }
  }

  private func planRetry() {
    guard let failure = question.last.failure, failure.mayPass, failure.storeFailure == nil,
      question.retries < Self.mostRetries
    else { return }
    question.retries += 1
    let jitter = dependencies.environment.entropy.fraction()
    let pause = max(
      failure.retryAfter ?? .zero, Backoff.shortest, Backoff.pause(failures: question.retries, jitter: jitter))
    let due = clock.boot() + pause
    question.retryAt = due
    rightsAlarm.set(due) { await self.retryRightsIfDue() }
  }

  /// An alarm that was set for an earlier failure may ring before the retry is due: it is then set again for that.
  private func retryRightsIfDue() -> BootInstant? {
    guard let due = question.retryAt, due <= clock.boot() else { return question.retryAt }
    question.retryAt = nil
    retryRights()
    return nil
  }
}

extension Provider {
  /// Rights are told elsewhere than in its tokens.
  fileprivate var tellsBesideTokens: Bool {
    rightsRule.hasEntitlementsURL || rightsRule.rolesClaim != nil && rightsRule.hasUserInfo
  }
}
