internal import AgentCore
internal import AgentModel
internal import AgentPermissions
internal import AgentPorts
package import AgentRecords
package import AgentSessions
package import AgentStore

/// Fetches the organisation's policy bundle: when `BundlePolling` says so, or a person asks. One fetch at a time, and
/// none while the vault is locked, which keeps the bundle.
package actor PolicySourceWorker {
  private let source: PolicySource?
  private let vault: VaultActor
  private let environment: AgentEnvironment
  private let background: BackgroundWork
  private let events: any EventPublishing
  private let alarm: Alarm
  private var polling: BundlePolling
  private var lastFailure: PolicySourceStatus.Failure?
  /// The last refusal in the audit log, which has each once until the source confirms a bundle.
  private var audited: BundleRefusal?
  private var waiting: [CheckedContinuation<Void, Never>] = []

  package init(
    vault: VaultActor, environment: AgentEnvironment, background: BackgroundWork, events: any EventPublishing
  ) {
    source = environment.policySource
    self.vault = vault
    self.environment = environment
    self.background = background
    self.events = events
    alarm = Alarm(clock: environment.clock, background: background)
    polling = BundlePolling(every: environment.policySource?.interval ?? .zero)
  }

  private var clock: any AgentClock { environment.clock }
  private var jitter: Double { environment.entropy.fraction() }

  /// A start, or an unlock: schedules the next fetch.
  package func resume() async {
    guard let source else { return }
    let age: Milliseconds?
    do throws(AgentFailure) {
      try await vault.commit { vault throws(AgentFailure) in try vault.policySource.identify() }
      age = try await vault.read { vault throws(AgentFailure) in try vault.policySource.age(of: source) }
    } catch {
      if error.isLocked { return }
      // A full disk, for one: the fetch tells it.
      age = nil
    }
    polling.start(age: age, isUrgent: age.map { $0 >= source.maxAge } ?? true, at: clock.boot(), jitter: jitter)
    schedule()
  }

  /// The network may have returned, or the machine woke.
  package func mayBeReachable() {
    guard source != nil else { return }
    polling.mayBeReachable(at: clock.boot(), jitter: jitter)
    schedule()
  }

  package func vaultWasLocked() { alarm.clear() }

  /// Fetches now, or waits for the fetch that runs. Does nothing without a source.
  package func refresh() async throws(AgentFailure) {
    try await vault.requireOpen()
    guard source != nil else { return }
    switch polling.ask(at: clock.boot()) {
    case .begin:
      alarm.clear()
      guard background.start({ await self.fetch() }) else { throw .shuttingDown }
      fallthrough
    case .join: await withCheckedContinuation { waiting.append($0) }
    }
  }

  private func schedule() {
    guard let next = polling.nextAt else { return }
    alarm.set(next) { await self.fetchIfDue() }
  }

  /// The next moment for the alarm.
  private func fetchIfDue() async -> BootInstant? {
    guard await vault.isOpen else { return nil }
    if polling.begin(at: clock.boot(), jitter: jitter) { background.start { await self.fetch() } }
    return polling.nextAt
  }

  private func fetch() async {
    guard let source else { return }
    let (outcome, refusal) = await perform(source)
    if let refusal {
      lastFailure = PolicySourceStatus.Failure(refusal: refusal, at: clock.wall())
      environment.log.log(.warning, "policySource", [(.reason, .name(refusal.word))])
      await audit(refusal)
    } else {
      lastFailure = nil
      audited = nil
    }
    let kept = await status()?.kept
    let isUrgent = kept.map { $0.version == nil || $0.age.map { $0 >= source.maxAge } ?? true } ?? false
    polling.ended(outcome, isUrgent: isUrgent, at: clock.boot(), jitter: jitter)
    for caller in waiting { caller.resume() }
    waiting = []
    schedule()
  }

  /// The refusal is nil after a confirmation.
  private func perform(_ source: PolicySource) async -> (BundlePolling.Outcome, BundleRefusal?) {
    do throws(AgentFailure) {
      let known = try await vault.read { vault throws(AgentFailure) in
        (try vault.policySource.entityTag(at: source), vault.time.moment())
      }
      guard let moment = known.1 else { return (.unreached, .notStored) }
      let fetched: PolicySourceStore.Fetched
      do throws(BundleFetch.Failure) {
        fetched = try await BundleFetch(source: source, http: environment.http).perform(entityTag: known.0)
      } catch {
        let isUnreached = error.refusal.isUnreached
        return (isUnreached ? .unreached : .refused(retryAfter: error.retryAfter), error.refusal)
      }
      let admitted = try await vault.commit { vault throws(AgentFailure) in
        try vault.policySource.admit(fetched, from: source, at: moment)
      }
      switch admitted {
      case .failure(let refusal): return (.refused(retryAfter: nil), refusal)
      case .success(let brought):
        for policy in brought { events.publish(.policyChanged(name: policy.name, version: policy.version)) }
        return (.confirmed, nil)
      }
    } catch {
      return (.refused(retryAfter: nil), .notStored)
    }
  }

  private func audit(_ refusal: BundleRefusal) async {
    guard refusal.isOfContent, refusal != audited else { return }
    let told: Void? = try? await vault.commit { vault throws(AgentFailure) in vault.policySource.refuse(refusal) }
    if told != nil { audited = refusal }
  }

  /// Nil without a source.
  package func status() async -> PolicySourceStatus? {
    guard let source else { return nil }
    let kept = try? await vault.read { vault throws(AgentFailure) in try vault.policySource.summary(of: source) }
    let nextAt = polling.nextAt.map { clock.wall() + max(.zero, $0 - clock.boot()) }
    return PolicySourceStatus(
      url: source.url.text, interval: source.interval, maxAge: source.maxAge, kept: kept, nextFetchAt: nextAt,
      lastFailure: lastFailure)
  }
}
