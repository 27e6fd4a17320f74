internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import Secrets

/// Asks userinfo and the entitlements' address for what the person of one account may do, beside exchanges
/// (docs/offline.md, Snapshots).
///
/// It works in the background: no token waits for it, and no refresh fails by it. One fetch at a time; until it is
/// answered the old snapshot stays, with its age. A part of `Account`, to which all its functions are isolated.
final class RightsFetcher {
  /// The end of a fetch; without `failure` it succeeded.
  struct Outcome: Sendable { @Rare var failure: AgentFailure? = nil }

  private struct Waiter {
    /// The number of the fetch that was begun before this caller came: its outcome is too old.
    let after: UInt64
    let caller: CheckedContinuation<AgentFailure?, Never>
  }

  /// After this many failures in a row only an exchange, a reconnect or a person asks again.
  private static let mostRetries = 5

  /// The number of the last fetch that was begun.
  private(set) var begun: UInt64 = 0
  private var isRunning = false
  /// An exchange came meanwhile: the provider is asked once more.
  private var isDue = false
  private var last: (number: UInt64, outcome: Outcome) = (0, Outcome())
  private var waiting: [Waiter] = []
  /// Since the last exchange.
  private var retries = 0
  /// When the provider is asked again after a failure; nil once it is asked.
  private var retryAt: BootInstant?
  /// Rings at `retryAt`. Most accounts never need it.
  private var alarm: Alarm?

  /// After each exchange and each sign-in. Returns at once.
  func start(for account: isolated Account) {
    retries = 0
    begin(for: account)
  }

  /// The outcome of a fetch that was begun after the fetch `number`.
  static func next(after number: UInt64, for account: isolated Account) async -> Outcome {
    await account.rightsFetcher.next(after: number, for: account)
  }

  private func next(after number: UInt64, for account: isolated Account) async -> Outcome {
    if last.number > number { return last.outcome }
    return Outcome(
      failure: await withCheckedContinuation { caller in
        waiting.append(Waiter(after: number, caller: caller))
        if !isRunning { begin(for: account) }
      })
  }

  /// Resumes the waiters with `error`; the fetch in flight runs to its end.
  func refuseWaiters(_ error: AgentFailure) {
    let refused = waiting
    waiting = []
    for waiter in refused { waiter.caller.resume(returning: error) }
  }

  /// The provider may be reachable again: repeats a fetch that failed.
  func retry(for account: isolated Account) {
    if last.outcome.failure?.mayPass == true, account.loaded != nil { begin(for: account) }
  }

  private func begin(for account: isolated Account) {
    guard !isRunning else {
      isDue = true
      return
    }
    isRunning = true
    let isStarted = account.dependencies.background.start { await Self.run(for: account) }
    if !isStarted { end(.shuttingDown) }
  }

  private static func run(for account: isolated Account) async {
    await account.rightsFetcher.fetchUntilAnswered(for: account)
  }

  private func fetchUntilAnswered(for account: isolated Account) async {
    repeat {
      isDue = false
      begun += 1
      retryAt = nil
      end(await fetch(for: account))
      isRunning = isDue || !waiting.isEmpty
    } while isRunning
    planRetry(for: account)
  }

  private func end(_ failure: AgentFailure?) {
    isRunning = false
    last = (begun, Outcome(failure: failure))
    let ended = waiting.filter { $0.after < begun }
    waiting.removeAll { $0.after < begun }
    for waiter in ended { waiter.caller.resume(returning: failure) }
  }

  /// Asks userinfo and the entitlements' address for the rights, the second also if the first fails.
  private func fetch(for account: isolated Account) async -> AgentFailure? {
    guard let start = account.loaded else { return .locked }
    let provider: Provider
    do {
      provider = try await account.dependencies.vault.receiver(ofTokensOf: start.profile.id)
    } catch { return error }
    let asksUserInfo =
      provider.rightsRule.rolesClaim != nil && provider.endpoints.userinfo != nil
      && account.loaded?.rights?.rolesAreOwed == true
    let asksEntitlements = provider.rightsRule.hasEntitlementsURL
    guard asksUserInfo || asksEntitlements else { return nil }
    guard let token = account.tokens.standard(of: account) else { return .rights(.noAccessToken) }
    let requests = RightsRequests(
      by: account.dependencies.client(of: provider), keySets: account.dependencies.keySets)
    let subject = start.profile.identity.subject
    var failure: AgentFailure?
    if asksUserInfo {
      failure = await ask(account, start.profile.epoch) { () async throws(RightsFailure) in
        try await requests.userInfoRights(token, subject: subject)
      }
    }
    if asksEntitlements {
      let second = await ask(account, start.profile.epoch) { () async throws(RightsFailure) in
        try await requests.entitlements(token, subject: subject)
      }
      failure = failure ?? second
    }
    return failure
  }

  /// Sends one request, and keeps what its answer tells.
  private func ask(
    _ account: isolated Account, _ epoch: UInt64,
    _ request: () async throws(RightsFailure) -> (RightsUpdate, BootInstant)
  ) async -> AgentFailure? {
    let (vault, id) = (account.dependencies.vault, account.id)
    do throws(AgentFailure) {
      let update: RightsUpdate
      let sentAt: BootInstant
      do throws(RightsFailure) {
        (update, sentAt) = try await request()
      } catch {
        throw .rights(error)
      }
      let change = try await vault.commit { vault throws(AgentFailure) in
        try vault.rights.keep(update, sentAt: sentAt, epoch: epoch, of: id)
      }
      account.adopt(change)
      return nil
    } catch {
      // With its session its tokens end, so that what was refused may be that.
      if let gone = await Self.failureOfEnded(id, epoch: epoch, in: vault) { return gone }
      account.dependencies.environment.log.log(
        .notice, "snapshot not refreshed",
        [(.account, .hashed(id.text)), (.reason, .name(error.kind.rawValue))])
      return error
    }
  }

  /// Why the sign-in of this epoch is over; nil if it is current.
  private static func failureOfEnded(_ id: AccountID, epoch: UInt64, in vault: VaultActor) async -> AgentFailure? {
    do throws(AgentFailure) {
      try await vault.read { vault throws(AgentFailure) in try vault.rights.requireCurrent(id, epoch: epoch) }
      return nil
    } catch {
      return error
    }
  }

  // MARK: asking again

  private func planRetry(for account: isolated Account) {
    guard let failure = last.outcome.failure, failure.mayPass, failure.storeFailure == nil, retries < Self.mostRetries
    else { return }
    retries += 1
    let jitter = account.dependencies.environment.entropy.fraction()
    let pause =
      failure.retryAfter.map { Backoff.spread($0, jitter: jitter) }
      ?? max(Backoff.shortest, Backoff.pause(failures: retries, jitter: jitter))
    let due = account.clock.boot() + pause
    retryAt = due
    let alarm = alarm ?? Alarm(clock: account.clock, background: account.dependencies.background)
    self.alarm = alarm
    alarm.set(due) { await Self.retryIfDue(for: account) }
  }

  /// An alarm that was set for an earlier failure may ring before the retry is due: it is then set again for that.
  private static func retryIfDue(for account: isolated Account) -> BootInstant? {
    let fetcher = account.rightsFetcher
    guard let due = fetcher.retryAt, due <= account.clock.boot() else { return fetcher.retryAt }
    fetcher.retryAt = nil
    fetcher.retry(for: account)
    return nil
  }
}
