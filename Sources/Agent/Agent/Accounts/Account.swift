package import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentPorts
internal import AgentVault
package import Secrets

/// The parts of the agent that `Account` uses.
package struct AccountDependencies: Sendable {
  package let vault: VaultActor
  package let background: BackgroundWork
  package let gate: ExchangeGate
  let renewals: RenewalTimer
  package let tokenCache: TokenCache
  package let events: any EventPublishing
  package let connectivity: ConnectivityState
  package let time: TimeKeeper
  package let policies: PolicyCache
  package let stepUps: StepUps
  package let metadata: MetadataRefresher
  package let environment: AgentEnvironment
  /// Sends an entry of the outbox in the background.
  package let revoke: @Sendable (OutboxEntry) -> Void
  /// Tries the outstanding revocations of one person at a provider, or of all persons, within a few seconds.
  let drain: @Sendable (ProviderName, Identity?) async -> Void

  init(
    vault: VaultActor, tables: PublishedTables, background: BackgroundWork, events: any EventPublishing,
    environment: AgentEnvironment, revoker: Handle<RevocationWorker>
  ) {
    self.vault = vault
    self.background = background
    gate = ExchangeGate(clock: environment.clock, background: background)
    renewals = RenewalTimer(clock: environment.clock, background: background)
    tokenCache = tables.tokenCache
    self.events = events
    connectivity = ConnectivityState(events: events, clock: environment.clock)
    time = tables.time
    policies = tables.policyCache
    stepUps = tables.stepUps
    metadata = MetadataRefresher(
      vault: vault, background: background, environment: environment, time: tables.time)
    self.environment = environment
    revoke = { entry in background.start { _ = await revoker.value?.send(entry) } }
    drain = { await revoker.value?.drain($0, of: $1) }
  }

  package func client(of provider: Provider) -> ProviderClient {
    var dependencies = ProviderClient.Dependencies(environment, time: time)
    dependencies.http = ObservedHTTPExchange(
      base: environment.http, provider: provider, connectivity: connectivity, metadata: metadata)
    return ProviderClient(provider: provider, dependencies: dependencies)
  }
}

/// Performs what `TokenMachine` and `ExchangeMachine` decide for the grant of one account.
///
/// No account waits for another one, and a caller that disconnects cancels no exchange. `Account+Exchange.swift`
/// performs the exchange, `Account+Renewal.swift` the renewals without a request.
package actor Account {
  package nonisolated let id: AccountID
  let dependencies: AccountDependencies
  var loaded: Loaded?
  /// Decides the steps of runs; `Account+Exchange.swift` performs them.
  package var exchanges = ExchangeMachine()
  /// The raw answers that `exchanges` refers to, by the nonce of their request. Each may hold the only live refresh
  /// token.
  package var answers: [[UInt8]: ReceivedAnswer] = [:]
  /// Counts replacements of the grant from outside, so that a slow load is detected as outdated.
  var replacements = 0
  /// When `Account` next checks whether a token needs renewal.
  var nextLook: BootInstant?
  /// The `reachabilityGeneration` that was last reported to the machine.
  var noticedReachability: UInt64 = 0
  /// The requests for the person's rights that run beside exchanges.
  var question = RightsFetch()
  /// Rings when such a request that failed is to be made again. Most accounts never need it.
  lazy var rightsAlarm = Alarm(clock: clock, background: dependencies.background)
  /// The confirmation that decisions asked for.
  var confirmation = Confirmation()
  /// The token that the reading thread serves.
  var published: PublishedToken?
  private var tokens: [UInt64: IssuedToken] = [:]
  private var serials: UInt64 = 0
  private var waiting: [UInt64: Waiting] = [:]

  private struct Waiting {
    var key: TokenKey
    var caller: CheckedContinuation<Result<TokenAnswer, AgentFailure>, Never>
  }

  private var waiterIDs: UInt64 = 0

  /// The grant as stored, and its machine.
  package struct Loaded {
    package var profile: AccountProfile
    var machine: TokenMachine
    package var grant: GrantRecord
    /// The state in the last event to subscribers.
    var toldState: AccountState
    /// When that state began, on the provider's timeline.
    var stateSince: Timestamp?
    var lastFailure: LastFailure?
    /// The last failure of the store.
    var storeError: AgentFailure?
    /// The identity in the ID token of the sign-in, which every later ID token must repeat.
    var idTokenIdentity: IDTokenIdentity?
    /// The memory that the rights snapshot is read from.
    package var rights: RightsMemory?
  }

  /// A raw answer, and whose it is: the account may be forgotten before it is judged.
  package struct ReceivedAnswer: Sendable {
    package var body: Secret
    var origin: TokenOrigin

    var refreshToken: Secret? { TokenResponse(body: body)?.refreshToken }
  }

  package init(id: AccountID, dependencies: AccountDependencies) {
    self.id = id
    self.dependencies = dependencies
  }

  package var clock: any AgentClock { dependencies.environment.clock }

  var journal: AccountJournal { AccountJournal(vault: dependencies.vault, id: id) }

  // MARK: requests of callers

  /// Returns a token from memory, or after the one exchange that all callers share.
  package func token(
    _ key: TokenKey, _ demand: TokenMachine.Demand, exactScopes: Bool = false
  ) async throws(AgentFailure) -> TokenAnswer {
    try await load()
    let key = try resolved(key, exactScopes: exactScopes)
    waiterIDs += 1
    let waiter = waiterIDs
    let result: Result<TokenAnswer, AgentFailure> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // A cancellation before this point found no entry in `waiting`, so look for it here.
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(AgentFailure.cancelled)) }
        noticeReachability()
        waiting[waiter] = Waiting(key: key, caller: continuation)
        perform(loaded?.machine.wanted(by: waiter, key: key, demand: demand, at: clock.boot()) ?? [])
        if loaded == nil { answer(waiter, .failure(.locked)) }
        if let run = exchanges.current, loaded?.machine.isWanted == true { dependencies.gate.want(run) }
        watchRenewal()
      }
    } onCancel: {
      dependencies.background.start { await self.leave(waiter) }
    }
    return try result.get()
  }

  /// Replaces the token with this fingerprint, which a resource refused, for any audience.
  package func replacement(of fingerprint: String) async throws(AgentFailure) -> TokenAnswer {
    try await load()
    let key = loaded?.machine.key(ofFingerprint: fingerprint) ?? .standard
    return try await token(key, .replacing(fingerprint: fingerprint))
  }

  /// The key of the token that answers a request. It is the standard one for all the granted scopes, however they are
  /// spelled out; a token with fewer scopes is exchanged only where the grant keeps its scopes.
  private func resolved(_ key: TokenKey, exactScopes: Bool) throws(AgentFailure) -> TokenKey {
    guard let scopes = key.scopes, let loaded else { return key }
    let request = ScopeRequest.of(
      scopes, granted: loaded.grant.scopes, isNarrowed: loaded.grant.isNarrowed, exactly: exactScopes,
      at: loaded.machine.narrowing)
    switch request {
    case .standard: return TokenKey(resource: key.resource)
    case .own(let scopes): return TokenKey(resource: key.resource, scopes: scopes)
    case .wouldNarrow: throw .wouldNarrow(id)
    }
  }

  private func leave(_ waiter: UInt64) {
    loaded?.machine.waiterLeft(waiter)
    answer(waiter, .failure(.cancelled))
  }

  private func answer(_ waiter: UInt64, _ result: Result<TokenAnswer, AgentFailure>) {
    waiting.removeValue(forKey: waiter)?.caller.resume(returning: result)
  }

  /// The account's state as a user interface shows it.
  package func session() async throws(AgentFailure) -> SessionFacts {
    try await load()
    noticeReachability()
    guard let loaded else { throw .locked }
    return sessionFacts(of: loaded)
  }

  @inline(never)
  private func sessionFacts(of loaded: Loaded) -> SessionFacts {
    let now = clock.boot()
    let (machine, provider) = (loaded.machine, loaded.profile.provider)
    let state = machine.state(at: now)
    return SessionFacts(
      profile: loaded.profile, time: dependencies.time.reading(for: provider), state: state,
      since: (state == loaded.toldState ? loaded.stateSince : dependencies.time.now(for: provider)).map {
        dependencies.time.wall($0, of: provider)
      }, remedies: machine.remedies(for: state),
      freshness: machine.freshness(at: now),
      accessTokenExpiresAt: machine.standardToken.map { clock.wall() + ($0.expiresAt - now) },
      refreshTokenExpiresAt: loaded.grant.refreshTokenExpiresAt.map { dependencies.time.wall($0, of: provider) },
      lastOnlineAuthAt: loaded.profile.lastOnlineAuthAt.map { dependencies.time.wall($0.time, of: provider) },
      offlineGraceUntil: offlineGraceUntil(loaded.profile), scopes: loaded.grant.scopes,
      lostScopes: loaded.grant.lostScopes,
      roles: loaded.rights?.snapshot.roles.sorted() ?? [], phase: machine.phase(at: now), attempts: machine.failures,
      nextAttemptAt: machine.nextAttemptAt.flatMap { $0 > now ? clock.wall() + ($0 - now) : nil },
      lastError: loaded.lastFailure, generation: loaded.grant.generation)
  }

  // MARK: replacing the grant

  /// A sign-in brought a new grant, which is stored already.
  package func signedIn(
    _ profile: AccountProfile, _ grant: GrantRecord, rule: ProviderConfiguration.RefreshRule,
    _ token: AccessToken?, idToken: Secret?, rights: RightsMemory?, unlockGeneration: UInt64
  ) {
    replacements += 1
    confirmation.pace.reset()
    confirmation.lacksAnswer = nil
    // The vault was locked since: keep nothing in memory.
    guard dependencies.tokenCache.unlockGeneration == unlockGeneration else { return }
    tokens = [:]
    revokeHeldAnswer()
    exchanges.signedIn(epoch: profile.epoch)
    wipeAnswers()
    var machine = TokenMachine(health: .ok, rule: rule)
    if let token = token.flatMap({ take($0, from: profile.provider) }) {
      _ = machine.adopt(token.facts, for: .standard)
      // The refresh token would end with an access token that no program asked for yet, or within a minute after it:
      // the sign-in counts as use.
      if let end = grant.refreshTokenExpiresAt,
        end <= dependencies.time.now(for: profile.provider) + (token.facts.expiresAt - clock.boot()) + .seconds(60)
      {
        machine.used(.standard, at: clock.boot())
      }
    }
    loaded = Loaded(
      profile: profile, machine: machine, grant: grant, toldState: .active,
      stateSince: profile.stateSince, idTokenIdentity: idToken.flatMap(IDTokenIdentity.read), rights: rights)
    dependencies.tokenCache.setState(.active, of: id)
    publish()
    // A caller that waited for the old grant's token gets the new grant's.
    for waiter in waiting.keys.sorted() {
      guard let key = waiting[waiter]?.key else { continue }
      perform(
        loaded?.machine.wanted(by: waiter, key: key, demand: .usable(minimumLifetime: .zero), at: clock.boot()) ?? [])
    }
    watchRenewal()
  }

  /// Drops the memory: the stored grant was replaced, or the vault was locked. An exchange in flight finds that its
  /// attempt is no longer current.
  package func release(_ error: AgentFailure) {
    replacements += 1
    dependencies.tokenCache.withdraw(id)
    published = nil
    refuseWaiters(error)
    refuseQuestion(error)
    loaded = nil
    exchanges.released()
    tokens = [:]
    nextLook = nil
  }

  /// The provider's configuration changed: requests that it refused before are sent again.
  package func configurationChanged() async {
    confirmation.pace.reset()
    confirmation.unhelpful = []
    guard let rule = try? await journal.open().2 else { return }
    perform(loaded?.machine.reconfigured(rule: rule) ?? [])
  }

  /// Resumes every waiter with `error`; exchanges go on.
  func refuseWaiters(_ error: AgentFailure) {
    for waiter in waiting.keys.sorted() {
      loaded?.machine.waiterLeft(waiter)
      answer(waiter, .failure(error))
    }
  }

  // MARK: loading

  package func load() async throws(AgentFailure) {
    while loaded == nil {
      let asked = replacements
      let (profile, found, rule) = try await journal.open()
      guard loaded == nil else { return }
      guard asked == replacements else { continue }  // a sign-in or sign-out came first: what was read is old
      let grant =
        found?.grant
        ?? GrantRecord(
          refreshToken: nil, generation: 0, memory: GrantMemory(health: .signedOut), scopes: ScopeSet([]),
          refreshTokenExpiresAt: nil)
      let signedOut = profile.signInStatus != .signedIn
      let now = clock.boot()
      var memory = grant.memory.memory(boot: now, wall: clock.wall())
      // The configuration may have been corrected since: one request shows it.
      if case .misconfigured = memory.health { memory.health = .ok }
      if signedOut { memory = TokenMemory(health: .signedOut) }
      let machine = TokenMachine(memory: memory, rule: rule, at: now)
      let state = machine.state(at: now)
      loaded = Loaded(
        profile: profile, machine: machine, grant: grant, toldState: state,
        stateSince: state == profile.restingState ? profile.stateSince : dependencies.time.now(for: profile.provider),
        lastFailure: signedOut ? nil : grant.memory.lastFailure,
        idTokenIdentity: found?.idToken.flatMap(IDTokenIdentity.read), rights: found?.rights)
      exchanges.loaded(epoch: profile.epoch)
      dependencies.tokenCache.setState(state, of: id)
      if let found, !signedOut {
        restore(found.tokens)
        recover(found)
        await rememberDoubt(wasKnown: grant.memory.health == .unknown, found.journal)
      }
    }
  }

  /// Restores the access tokens that were stored before the restart, also those of a refused grant or one with an
  /// unknown outcome: they work until they expire.
  private func restore(_ kept: AccessTokens?) {
    for token in kept?.all ?? [] {
      if let issued = take(token) { loaded?.machine.restore(issued.facts, for: token.key) }
    }
    publish()
  }

  /// Recovers from an end of the agent during an exchange: continues with a staged answer; an intent without an answer
  /// has an unknown outcome.
  private func recover(_ found: LoadedGrant) {
    if let staged = found.staged, let profile = loaded?.profile {
      answers[staged.intent.nonce] = ReceivedAnswer(body: staged.body, origin: TokenOrigin(profile, nil))
    }
    perform(
      exchanges.recover(
        found.journal, generation: found.grant.generation, bootID: clock.bootID, at: clock.boot()))
  }

  /// Stores an unknown outcome that was found at the start, so that the person is asked once, and not at each start.
  private func rememberDoubt(wasKnown: Bool, _ found: ExchangeMachine.JournalEntry) async {
    guard let loaded,
      let intent = exchanges.newDoubt(in: found, isInDoubt: loaded.machine.health == .unknown, wasKnown: wasKnown)
    else { return }
    try? await journal.keepDoubt(intent, grant: loaded.grant)
  }

  // MARK: effects

  func perform(_ effects: [TokenMachine.Effect]) {
    for effect in effects {
      switch effect {
      case .exchange(let attempt):
        exchanges.attemptBegan(attempt)
        // During the shutdown `BackgroundWork` starts no work: refuse the waiters instead.
        if !dependencies.background.start({ await self.exchange(attempt) }) { refuseWaiters(.shuttingDown) }
      case .answer(let waiter, let serial, let source):
        guard let token = tokens[serial], let issuer = loaded?.profile.identity.issuer else {
          answer(waiter, .failure(.shuttingDown))
          continue
        }
        let left = token.facts.expiresAt - clock.boot()
        answer(
          waiter,
          .success(
            TokenAnswer(
              token: token, account: id, issuer: issuer, source: source, expiresAt: token.expiresAt(on: clock),
              expiresInSeconds: max(0, left.wholeSeconds))))
      case .refuse(let waiter, .store) where loaded?.storeError != nil:
        answer(waiter, .failure(loaded!.storeError!))
      case .refuse(let waiter, let refusal):
        answer(waiter, .failure(.token(refusal, id)))
      case .persistHealth:
        guard let loaded else { continue }
        self.loaded?.grant.memory = GrantMemory(loaded.machine.memory, boot: clock.boot(), wall: clock.wall())
      case .sessionExpired(let reason):
        dependencies.events.publish(.sessionExpired(reason: reason), account: id)
      case .stateChanged:
        tellState()
      }
    }
  }

  private func tellState() {
    guard let loaded else { return }
    let state = loaded.machine.state(at: clock.boot())
    dependencies.tokenCache.setState(state, of: id)
    guard state != loaded.toldState else { return }
    self.loaded?.toldState = state
    self.loaded?.stateSince = dependencies.time.now(for: loaded.profile.provider)
    dependencies.events.publish(.sessionStateChanged(state, previous: loaded.toldState), account: id)
  }

  // MARK: tokens

  /// Keeps an access token in memory; nil if it has expired already.
  package func take(_ token: AccessToken) -> IssuedToken? {
    guard let provider = loaded?.profile.provider else { return nil }
    return take(token, from: provider)
  }

  private func take(_ token: AccessToken, from provider: ProviderName) -> IssuedToken? {
    let now = clock.boot()
    let sentAt = token.sentAt(on: clock, now: dependencies.time.now(for: provider))
    let expiresAt = sentAt + token.lifetime
    guard expiresAt > now else { return nil }
    serials += 1
    let refreshAt = expiresAt + (.zero - token.lead)
    let facts = TokenMachine.TokenFacts(
      serial: serials, lifetime: token.lifetime, refreshAt: refreshAt, expiresAt: expiresAt,
      renewAt: RenewalTime.of(
        issuedAt: sentAt, refreshAt: refreshAt, expiresAt: expiresAt,
        jitter: dependencies.environment.entropy.fraction()),
      fingerprint: Fingerprint.of(token.secret))
    let issued = IssuedToken(issued: token, facts: facts)
    tokens[serials] = issued
    return issued
  }

  /// The access tokens to store for a restart, with `fresh` among them.
  func keepsake(with fresh: AccessToken?) -> AccessTokens {
    let now = clock.boot()
    let live = loaded?.machine.liveSerials ?? []
    let others = tokens.values.filter {
      live.contains($0.facts.serial) && now < $0.facts.expiresAt && $0.key != fresh?.key
    }
    return AccessTokens(others.sorted { $0.facts.serial < $1.facts.serial }.map(\.issued) + (fresh.map { [$0] } ?? []))
  }

  /// The live token for all the granted scopes; nil without one.
  var standardToken: Secret? {
    guard let facts = loaded?.machine.standardToken, clock.boot() < facts.expiresAt else { return nil }
    return tokens[facts.serial]?.secret
  }

  /// The live access tokens with their remaining lifetimes.
  var liveTokens: [(token: Secret, lives: Milliseconds)] {
    let now = clock.boot()
    let live = tokens.values.filter { now < $0.facts.expiresAt }
    return live.sorted { $0.facts.serial < $1.facts.serial }.map { ($0.secret, $0.facts.expiresAt - now) }
  }

  /// The wall clock was set: publishes the token again, since its answer names wall-clock times.
  func clockChanged() {
    noteUse()
    published = nil
    publish()
  }

  /// Wipes the tokens that are no longer served, and publishes the current one to the reading thread.
  package func publish() {
    guard let loaded else { return }
    let live = loaded.machine.liveSerials
    tokens = tokens.filter { live.contains($0.key) }
    guard let facts = loaded.machine.servedToken, let token = tokens[facts.serial] else {
      published = nil
      return dependencies.tokenCache.withdraw(id)
    }
    guard published?.serial != facts.serial else { return }
    noteUse()
    let fresh = PublishedToken(
      token, account: id, issuer: loaded.profile.identity.issuer, expiresAt: token.expiresAt(on: clock))
    published = fresh
    dependencies.tokenCache.publish(fresh)
  }
}
