internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import Secrets

/// Sign-ins in progress. A failure of any kind leaves no account, no listener and no file behind.
actor SignInDesk {
  /// Pending at one time: a person signs in to a few things at once; more is a program that went wrong.
  static let capacity = 16
  /// How long a person may take.
  static let lifetime = Milliseconds.seconds(600)
  /// How long the outcome can be asked for.
  private static let memory = Milliseconds.seconds(600)
  /// Ended sign-ins that are remembered at most.
  private static let remembered = 64

  private let around: AccountSurroundings
  private let accounts: AccountDirectory
  private var jobs: [String: SignInJob] = [:]
  private var waiterIDs: UInt64 = 0
  /// The agent ends: nothing is begun any more.
  private var isOver = false

  init(around: AccountSurroundings, accounts: AccountDirectory) {
    self.around = around
    self.accounts = accounts
  }

  private var clock: any AgentClock { around.environment.clock }

  // MARK: beginning

  struct Begun: Sendable {
    var id: String
    var authorizationURL: String
    var expiresAt: Timestamp
  }

  func begin(provider name: String, wishes: SignInJob.Wishes) async throws(RPCError) -> Begun {
    let provider = try await discovered(name)
    guard let endpoint = provider.endpoints.authorization.flatMap(HTTPURL.init), provider.endpoints.token != nil else {
      throw RPCError(
        .providerMisconfigured, "This provider has no authorization or token endpoint. Give them by `provider.update`.")
    }
    if let alias = wishes.alias {
      if let account = wishes.account {
        try await around.registry.requireFree(alias, for: account)
      } else {
        try await around.registry.requirePossible(alias, at: provider.configuration.name)
      }
    }
    guard jobs.values.filter(\.isPending).count < Self.capacity else {
      throw .overloaded("sign-ins in progress", retryAfter: .seconds(10))
    }
    guard !isOver else { throw .shuttingDown }
    forgetOldest()
    let entropy = around.environment.entropy
    let id = "sgn_" + Base32.encode(entropy.bytes(16))
    var job = SignInJob(
      id: id, provider: provider, wishes: wishes, state: Base64URL.encode(entropy.bytes(24)),
      nonce: Base64URL.encode(entropy.bytes(24)), verifier: Secret(text: Base64URL.encode(entropy.bytes(32))),
      scopes: wishes.scopes ?? provider.configuration.scopes, expiresAt: clock.boot() + Self.lifetime)
    let redirect = provider.configuration.redirect
    do {
      let listener = try around.environment.redirects.listen(
        host: redirect.host, port: redirect.port, path: redirect.path
      ) { query in await self.redirected(id, query) }
      job.listener = listener
      job.redirectURI = listener.redirectURI
    } catch {
      throw RPCError(error)
    }
    jobs[id] = job
    around.background.startTimer { [clock, expiresAt = job.expiresAt] in
      await clock.sleep(until: expiresAt)
      guard !Task.isCancelled else { return }
      await self.finish(
        id, .failed(.signInFailed("expired", "Nobody signed in in time. Begin again; nothing was changed.")))
      await clock.sleep(until: expiresAt + Self.memory)
      await self.forget(id)
    }
    return Begun(
      id: id, authorizationURL: job.authorizationURL(endpoint: endpoint), expiresAt: clock.wall() + Self.lifetime)
  }

  /// The provider, with what it says of itself: asked now if it never was.
  private func discovered(_ name: String) async throws(RPCError) -> Provider {
    var provider = try await around.registry.provider(named: name)
    if provider.endpoints.authorization == nil || provider.endpoints.token == nil {
      let metadata = try await client(provider).discoverOrExplain()
      try await around.registry.remember(metadata, of: provider.configuration.name)
      provider.metadata = metadata
    }
    return provider
  }

  private func client(_ provider: Provider) -> ProviderClient {
    around.client(of: provider)
  }

  // MARK: waiting

  /// Returns when the sign-in has ended; a caller with a deadline is cancelled at it and asks `progress` afterwards.
  func wait(_ id: String) async throws(RPCError) -> SignInJob.Status {
    guard let job = jobs[id] else { throw .signInNotFound }
    guard job.isPending else { return job.status }
    waiterIDs += 1
    let waiter = waiterIDs
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !Task.isCancelled, jobs[id]?.isPending == true else { return continuation.resume() }
        jobs[id]?.waiters[waiter] = continuation
      }
    } onCancel: {
      around.background.start { await self.leave(id, waiter) }
    }
    guard let status = jobs[id]?.status else { throw .signInNotFound }
    return status
  }

  func progress(_ id: String) throws(RPCError) -> SignInJob.Status {
    guard let job = jobs[id] else { throw .signInNotFound }
    return job.status
  }

  private func leave(_ id: String, _ waiter: UInt64) { jobs[id]?.waiters.removeValue(forKey: waiter)?.resume() }

  func cancel(_ id: String) throws(RPCError) {
    guard jobs[id] != nil else { throw .signInNotFound }
    finish(id, .failed(.signInFailed("cancelled", "The sign-in was cancelled. Nothing was changed.")))
  }

  /// The agent ends: nobody waits any longer.
  func closeAll() {
    isOver = true
    for id in jobs.keys { finish(id, .failed(.shuttingDown)) }
  }

  private func finish(_ id: String, _ status: SignInJob.Status) {
    guard jobs[id]?.isPending == true else { return }
    jobs[id]?.status = status
    jobs[id]?.listener?.stop()
    jobs[id]?.listener = nil
    let waiters = jobs[id]?.waiters ?? [:]
    jobs[id]?.waiters = [:]
    for waiter in waiters.values { waiter.resume() }
  }

  /// Outcomes can be asked for a while; a client that begins and cancels in a loop gets no more memory for it.
  private func forgetOldest() {
    let ended = jobs.values.filter { !$0.isPending }.sorted { ($0.expiresAt, $0.id) < ($1.expiresAt, $1.id) }
    for job in ended.dropLast(Self.remembered) { jobs[job.id] = nil }
  }

  private func forget(_ id: String) { jobs[id] = nil }

  // MARK: the browser comes back

  /// Judges the answer, redeems the code, and says in a page what came of it.
  private func redirected(_ id: String, _ query: String) async -> RedirectPage {
    guard let job = jobs[id], job.isPending, !job.isAnswered else { return SignInPage.over() }
    jobs[id]?.isAnswered = true
    do {
      let code = try AuthorizationAnswer.code(in: query, for: job)
      let admitted = try await redeem(code, job)
      finish(id, .completed(admitted.profile.id))
      return SignInPage.signedIn(admitted.profile)
    } catch {
      finish(id, .failed(error))
      return SignInPage.failed(error, provider: job.provider.configuration.name.text)
    }
  }

  private func redeem(_ code: Secret, _ job: SignInJob) async throws(RPCError) -> Registry.Admitted {
    let client = client(job.provider)
    let configuration = job.provider.configuration
    if configuration.revocationScope == .grant {
      // The code's tokens would be reached by a revocation, too: it must come before they are made.
      var expected: Identity?
      if let account = job.wishes.account { expected = try await around.registry.profile(.id(account)).identity }
      await around.drain(configuration.name, expected)
    }
    let answer = await client.exchange(code: code, redirectURI: job.redirectURI, verifier: job.verifier)
    return try await admit(
      answer, client, nonce: .required(job.nonce), requested: job.scopes, expected: job.wishes.account,
      alias: job.wishes.alias
    ) { self.jobs[job.id]?.isPending == true }
  }

  // MARK: import

  /// Takes over a refresh token from elsewhere: it is used at once, so that the agent owns its lineage. If that fails,
  /// nothing is kept.
  func takeOver(
    _ refreshToken: Secret, provider name: String, alias: Alias?
  ) async throws(RPCError) -> Registry.Admitted {
    let provider = try await discovered(name)
    if let alias { try await around.registry.requirePossible(alias, at: provider.configuration.name) }
    let client = client(provider)
    let answer = await client.refresh(refreshToken, key: .standard)
    return try await admit(
      answer, client, nonce: .unasked, requested: provider.configuration.scopes, expected: nil, alias: alias,
      fallback: refreshToken
    ) { true }
  }

  // MARK: admission

  /// From the token endpoint's answer to an account that is on the disk. `isWanted` is asked after the last await.
  private func admit(
    _ answer: ProviderClient.TokenAnswer, _ client: ProviderClient, nonce: IDTokenPolicy.Nonce, requested: [String],
    expected: AccountID?, alias: Alias?, fallback: Secret? = nil, isWanted: () -> Bool
  ) async throws(RPCError) -> Registry.Admitted {
    let body: Secret
    let sentAt: BootInstant
    switch answer {
    case .answered(let answered, let sent):
      (body, sentAt) = (answered, sent)
    case .failed(let failure): throw .signInFailed(failure)
    }
    guard let response = TokenResponse(body: body), response.accessToken != nil else {
      throw .signInFailed("invalidTokenResponse", "The provider's answer is no token response. Nothing was kept.")
    }
    // The answer told the time before its ID token is judged by it: a machine whose clock is hours off signs in all the
    // same. Of a provider that sends no `Date`, and never did, the wall clock is all there is.
    let now = around.time.now(for: client.provider.configuration.name)
    let person = try await IdentityProof(client: client, now: now).identify(response, nonce: nonce)
    if client.provider.configuration.revocationScope != .grant {
      await around.drain(client.provider.configuration.name, person.identity)
    }
    guard isWanted() else { throw .signInFailed("cancelled", "The sign-in was cancelled. Nothing was changed.") }
    let configuration = client.provider.configuration
    let grant = GrantRecord(
      refreshToken: response.refreshToken ?? fallback, generation: 1, memory: GrantMemory(health: .ok),
      scopes: response.scope ?? ScopeSet(requested), roles: person.roles,
      refreshTokenExpiresAt: response.refreshTokenExpiresIn.map { around.time.now(for: configuration.name) + $0 })
    let token = AccessToken(
      response, for: .standard, of: grant, sentAt: sentAt, clock: clock,
      now: around.time.now(for: configuration.name))
    let admitted = try await around.registry.admit(
      Registry.Admission(
        identity: person.identity, provider: configuration.name, alias: alias, displayName: person.displayName,
        email: person.email, grant: grant, idToken: response.idToken,
        tokens: AccessTokens(token.map { [$0] } ?? []), sentAt: sentAt, expected: expected))
    await accounts.account(admitted.profile.id).signedIn(
      admitted.profile, admitted.grant, rule: configuration.refresh, admitted.tokens.all.first,
      idToken: response.idToken)
    tell(admitted)
    return admitted
  }

  private func tell(_ admitted: Registry.Admitted) {
    let profile = admitted.profile
    for entry in admitted.superseded {
      around.events.publish(
        RevocationAbandonedEvent(revocation: entry.name, issuer: entry.issuer, reason: "superseded"))
    }
    if admitted.isNew {
      around.events.publish(
        AccountAddedEvent(alias: profile.alias, provider: profile.provider, issuer: profile.identity.issuer),
        account: profile.id)
    } else if admitted.previousState != .active {
      around.events.publish(
        SessionStateChangedEvent(state: .active, previous: admitted.previousState), account: profile.id)
    }
    if admitted.becameActive {
      around.events.publish(AccountSwitchedEvent(active: profile.id, previous: nil), account: profile.id)
    }
  }
}

extension SignInJob {
  var isPending: Bool { if case .pending = status { true } else { false } }
}
