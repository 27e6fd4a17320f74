package import AgentCore
package import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentRecords
package import AgentSessions
package import AgentStore
package import Secrets

/// Sign-ins in progress: begins them, bounds them, and ends them. A failure of any kind leaves no account, no listener
/// and no file behind.
///
/// `AuthorizationCodeFlow` and `DeviceFlow` get the provider's answer, `SignInAdmission` makes an account of it.
package actor SignInCoordinator {
  /// Pending at one time.
  static let capacity = 24
  /// Pending at one time for one client name, one grant or one process: a person signs in to a few things at once; more
  /// is a program that went wrong, which must leave places to the others.
  static let capacityOfOne = 16
  /// The time that a person has.
  static let lifetime = Milliseconds.seconds(600)
  /// The time in which the outcome can be asked for.
  private static let memory = Milliseconds.seconds(600)
  /// Ended sign-ins that are remembered at most.
  private static let remembered = 64

  let dependencies: AccountDependencies
  var jobs: [String: SignInJob] = [:]
  let providers: SignInProviders
  let admission: SignInAdmission
  let groups: AdmissionGroups
  let codeFlow: AuthorizationCodeFlow
  private let deviceFlow: DeviceFlow
  /// Sign-ins that wait for a provider's first answer, which take a place already: the quotas of their callers, by id.
  private var beginning: [String: Set<String>] = [:]
  /// The tokens whose import is under way, as `waiters` names them.
  var importing: Set<String> = []
  /// Imports whose intent could not be stored: nothing was sent.
  var unjournaled: [[UInt8]: AgentFailure] = [:]
  /// Steps that end imports and that the store has not taken yet, by token.
  var unended: [Int64: [ImportJournal.Step]] = [:]
  /// Imports of which no account may come, and whose tokens still wait in the journal: their callers were told.
  var disowned: Set<[UInt8]> = []
  /// What holds revocations back for imports whose answers are in the journal.
  var importHolds: [[UInt8]: RevocationHold] = [:]
  /// When an import that waits for its provider was first gone on with.
  var resumedAt: [[UInt8]: BootInstant] = [:]
  let resumption: Alarm
  var waiters = SignInWaiters()
  private let alarm: Alarm
  /// The deadlines of the callers that wait.
  private let patience: Alarm
  /// The agent ends: nothing is begun any more.
  private(set) var isOver = false

  package init(dependencies: AccountDependencies, accounts: AccountDirectory) {
    self.dependencies = dependencies
    providers = SignInProviders(dependencies: dependencies)
    groups = AdmissionGroups(vault: dependencies.vault)
    admission = SignInAdmission(dependencies: dependencies, accounts: accounts, groups: groups)
    codeFlow = AuthorizationCodeFlow(dependencies: dependencies, admission: admission, providers: providers)
    deviceFlow = DeviceFlow(dependencies: dependencies, admission: admission)
    alarm = Alarm(clock: dependencies.environment.clock, background: dependencies.background)
    patience = Alarm(clock: dependencies.environment.clock, background: dependencies.background)
    resumption = Alarm(clock: dependencies.environment.clock, background: dependencies.background)
  }

  var clock: any AgentClock { dependencies.environment.clock }

  // MARK: beginning

  package struct Begun: Sendable {
    package var id: String
    package var page: Page
    package var expiresAt: Timestamp

    /// The page that the person sees.
    package enum Page: Sendable {
      case authorization(url: String)
      case device(DeviceAuthorization)

      /// The address that a browser opens.
      package var url: String {
        switch self {
        case .authorization(let url): url
        case .device(let device): device.verificationURIComplete ?? device.verificationURI
        }
      }
    }
  }

  package func begin(
    _ flow: SignInFlow, provider name: String, wishes: SignInJob.Wishes
  ) async throws(AgentFailure) -> Begun {
    let provider = try await providers.provider(name, for: flow)
    if flow != .device { try await providers.requireDistinctAnswers(of: provider) }
    try provider.requireSupport(of: wishes.details)
    try await requireAlias(wishes, at: provider)
    // The provider's code may be good once: the person is not sent for one that can't be kept.
    try await groups.requireWritable()
    let quotas = Caller.current?.signInQuotas ?? []
    try requireRoom(for: quotas)
    guard !isOver else { throw .shuttingDown }
    let id = "sgn_" + Base32.encode(dependencies.environment.entropy.bytes(16))
    beginning[id] = quotas
    defer { beginning[id] = nil }
    let scopes = wishes.scopes ?? provider.configuration.scopes
    let deviceKey = try provider.deviceKey(by: dependencies.environment.keys)
    let way: SignInJob.Way
    let page: Begun.Page
    var expiresAt = clock.boot() + Self.lifetime
    switch flow {
    case .browser, .paste:
      let url: String
      (way, url) = try await codeFlow.begin(
        id, flow, at: provider, scopes: scopes, wishes: wishes, boundTo: deviceKey, of: self)
      page = .authorization(url: url)
    case .device:
      let device: DeviceAuthorization
      (device, expiresAt) = try await deviceFlow.begin(at: provider, scopes: scopes, details: wishes.details)
      way = .device(device, DevicePolling(interval: device.interval), asksAt: clock.boot() + device.interval)
      page = .device(device)
    }
    guard !isOver, dependencies.tokenCache.unlockGeneration != nil else {
      codeFlow.leave(id)
      throw isOver ? .shuttingDown : .locked
    }
    forgetOldest()
    jobs[id] = SignInJob(
      id: id, provider: provider, wishes: wishes, scopes: scopes, deviceKey: deviceKey, quotas: quotas,
      expiresAt: expiresAt, way: way)
    if case .device = way { deviceFlow.drainWhileThePersonTypes(id, of: self) }
    watch()
    // By the machine's clock: a sign-in is no account's yet, and programs count down to it.
    return Begun(id: id, page: page, expiresAt: clock.wall() + (expiresAt - clock.boot()))
  }

  /// Each sign-in has a key of its own: the one of the account's earlier grant goes with that.
  private func requireRoom(for quotas: Set<String>) throws(AgentFailure) {
    let taken = jobs.values.filter(\.isPending).map(\.quotas) + beginning.values
    for quota in quotas where taken.count(where: { $0.contains(quota) }) >= Self.capacityOfOne {
      throw .signIn(.tooMany(Self.capacityOfOne, ofThisProgram: true))
    }
    guard taken.count < Self.capacity else { throw .signIn(.tooMany(Self.capacity, ofThisProgram: false)) }
  }

  private func requireAlias(_ wishes: SignInJob.Wishes, at provider: Provider) async throws(AgentFailure) {
    guard let alias = wishes.alias else { return }
    if let account = wishes.account {
      try await dependencies.vault.read { vault throws(AgentFailure) in
        try vault.directory.requireFree(alias, for: account)
      }
    } else if provider.configuration.identity == .resource {
      // Without the account's name a sign-in makes a new one, which can't have the alias of another.
      try await dependencies.vault.read { vault throws(AgentFailure) in try vault.directory.requireFree(alias, for: nil)
      }
    } else {
      try await requirePossible(alias, at: provider)
    }
  }

  func requirePossible(_ alias: Alias, at provider: Provider) async throws(AgentFailure) {
    try await dependencies.vault.read { vault throws(AgentFailure) in
      try vault.directory.requirePossible(alias, at: provider.configuration.name)
    }
  }

  // MARK: time

  /// One alarm for all sign-ins, set for what is due next: a question to the provider, an expiry, a forgetting. A
  /// caller that begins and cancels in a loop leaves no sleeping task behind.
  func watch() {
    guard let next = nextDue() else { return }
    alarm.set(next) { await self.look() }
  }

  private func nextDue() -> BootInstant? { isOver ? nil : jobs.values.map({ $0.due(Self.memory) }).min() }

  private func look() -> BootInstant? {
    let now = clock.boot()
    for job in jobs.values.sorted(by: { $0.id < $1.id }) where job.due(Self.memory) <= now {
      if !job.isPending {
        jobs[job.id] = nil
      } else if job.expiresAt <= now {
        finish(job.id, .failed(.signIn(.expired(refused: job.refusals.count, last: job.refusals.last))))
      } else {
        deviceFlow.ask(job.id, of: self)
      }
    }
    return nextDue()
  }

  // MARK: answers from a person

  /// Takes the provider's answer from a person instead of the browser (`AuthorizationCodeFlow.complete`).
  package func complete(_ id: String, with pasted: Secret) async throws(AgentFailure) -> SignInJob.Status {
    guard let job = jobs[id] else { throw await notFound() }
    return try await codeFlow.complete(job, with: pasted, of: self)
  }

  // MARK: waiting

  /// Returns when the sign-in has ended, or `.pending` at the deadline.
  ///
  /// One alarm serves all deadlines: a task for each would take more memory than the rest of a caller that waits.
  package func wait(_ id: String, until deadline: BootInstant? = nil) async throws(AgentFailure) -> SignInJob.Status {
    guard let status = status(of: id) else { throw await notFound() }
    guard isPending(id), deadline.map({ clock.boot() < $0 }) ?? true else { return status }
    guard waiters.count(for: id) < SignInWaiters.most else { throw .overloaded("callers that wait for one sign-in") }
    let waiter = waiters.newID()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !Task.isCancelled, isPending(id) else { return continuation.resume() }
        waiters.add(waiter, for: id, until: deadline, continuation)
        if let deadline { patience.set(deadline) { await self.impatientCallersLeave() } }
      }
    } onCancel: {
      dependencies.background.start { await self.leave(id, waiter) }
    }
    return outcome(of: id)
  }

  private func impatientCallersLeave() -> BootInstant? { waiters.resumeImpatient(at: clock.boot()) }

  // Not inlined: a job is large, and each copy of it in an asynchronous function would take its place in the memory of
  // every caller that waits there.

  @inline(never) private func status(of id: String) -> SignInJob.Status? { jobs[id]?.status }

  /// The status of a sign-in that there was: the lock forgets those that it cancels.
  @inline(never) func outcome(of id: String) -> SignInJob.Status { status(of: id) ?? .failed(.signIn(.cancelled)) }

  @inline(never) private func isPending(_ id: String) -> Bool { jobs[id]?.isPending == true }

  @inline(never) private func isSeen(_ id: String, within grant: EffectiveGrant?) -> Bool {
    grant.map { grant in jobs[id]?.wishes.account.map(grant.covers) ?? false } ?? true
  }

  /// A locked vault has forgotten all sign-ins.
  func notFound() async -> AgentFailure { await dependencies.vault.isOpen ? .notFound(.signIn) : .locked }

  /// What came to the redirect URI of a sign-in and was refused.
  package func refusals(of id: String) -> SignInJob.Refusals { jobs[id]?.refusals ?? SignInJob.Refusals() }

  private func leave(_ id: String, _ waiter: UInt64) { waiters.remove(waiter, for: id) }

  /// A sign-in that a limited caller does not see is as none.
  package func requireSeen(_ id: String, within grant: EffectiveGrant?) async throws(AgentFailure) {
    guard isSeen(id, within: grant) else { throw await notFound() }
  }

  package func cancel(_ id: String) async throws(AgentFailure) {
    guard jobs[id] != nil else { throw await notFound() }
    finish(id, .failed(.signIn(.cancelled)))
  }

  /// The agent ends: fails every sign-in with `.shuttingDown`.
  package func closeAll() {
    isOver = true
    for id in jobs.keys { finish(id, .failed(.shuttingDown)) }
  }

  /// Cancels every sign-in: no account could be made now, and the person begins again after the unlocking.
  /// A provider's answer in flight then has no account, and its token is revoked.
  package func vaultWasLocked() {
    for id in jobs.keys.sorted() { finish(id, .failed(.signIn(.cancelled))) }
    // Each one has its provider with it, and that its secret.
    jobs = [:]
  }

  /// Why the sign-in no longer wants the answer; nil if it still does.
  func failureOfEnded(_ id: String?) -> AgentFailure? {
    guard let id else { return nil }
    switch jobs[id]?.status {
    case .pending?: return nil
    case .failed(let error)?: return error
    case .completed?, nil: return .signIn(.cancelled)
    }
  }

  func finish(_ id: String, _ status: SignInJob.Status) {
    guard let job = jobs[id], job.isPending else { return }
    jobs[id]?.status = status
    settleDemand(of: job, status)
    codeFlow.leave(id, state: jobs[id]?.request?.state)
    jobs[id]?.way = .ended
    jobs[id]?.deviceKey = nil
    waiters.resumeAll(for: id)
  }

  /// A demand is met by a sign-in of its account. One that the provider can't meet would stop each later sign-in, too, so
  /// the next one asks for nothing of it.
  private func settleDemand(of job: SignInJob, _ status: SignInJob.Status) {
    switch status {
    case .completed(let account): dependencies.demands.forget(account)
    case .failed(let failure) where failure.isOfTheDemand && job.wishes.answersDemand:
      if let account = job.wishes.account { dependencies.demands.forget(account) }
    case .pending, .failed: break
    }
  }

  /// Outcomes can be asked for a while; a client that begins and cancels in a loop gets no more memory for it.
  private func forgetOldest() {
    let ended = jobs.values.filter { !$0.isPending }.sorted { ($0.expiresAt, $0.id) < ($1.expiresAt, $1.id) }
    for job in ended.dropLast(Self.remembered) { jobs[job.id] = nil }
  }
}

extension AgentFailure {
  /// The provider refused what a sign-in asked for, or did not do it. All others have causes of their own: the network, the
  /// person, the vault.
  fileprivate var isOfTheDemand: Bool {
    switch self {
    case .signIn(.answer(.refused(let error))): error != "server_error" && error != "temporarily_unavailable"
    case .provider(.pushRefused): true
    case .signIn(.identity(.idTokenInvalid(let reason))):
      [.contextMissing, .contextMismatch, .authTimeMissing, .authenticationTooOld].contains(reason)
    case .signIn(.answerRejected(let failure, _)): failure.isOfTheDemand
    default: false
    }
  }
}
