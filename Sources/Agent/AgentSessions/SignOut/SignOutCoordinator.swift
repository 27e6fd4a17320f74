package import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
package import AgentStore
package import Secrets

/// Performs what `SignOutMachine` decides (docs/sign-out.md, Order).
package struct SignOutCoordinator: Sendable {
  let dependencies: AccountDependencies
  let accounts: AccountDirectory
  let revocations: RevocationWorker

  package init(dependencies: AccountDependencies, accounts: AccountDirectory, revocations: RevocationWorker) {
    self.dependencies = dependencies
    self.accounts = accounts
    self.revocations = revocations
  }

  /// The result of a sign-out, for its caller.
  package struct Answer: Sendable {
    package var outcome: SignOutMachine.Outcome
    /// The mode that counted.
    package var mode: SignOutMode
    /// It holds the ID token.
    package var endSessionURL: Secret?
    /// When the next revocation that waits is sent, on the timeline of its provider. Nil if none waits.
    package var nextAttemptAt: Timestamp?
  }

  /// A sign-out in progress, with the data that its machine refers to.
  private struct Job {
    var machine: SignOutMachine
    let account: Account
    let revocationTimeoutSeconds: Int
    var signedOut: SignedOut?
    var entries: [SignOutMachine.Entry: OutboxEntry] = [:]
    var result: Result<Answer, AgentFailure>?
  }

  /// Signs an account out. The revocation continues after the caller's wait has ended.
  package func signOut(
    _ id: AccountID, _ mode: SignOutMode, revocationTimeoutSeconds: Int
  ) async throws(AgentFailure) -> Answer {
    var job = Job(
      machine: SignOutMachine(
        mode, isHardDemanded: dependencies.environment.configuration.hardSignOutDemandedBy != nil),
      account: accounts.account(id), revocationTimeoutSeconds: revocationTimeoutSeconds)
    while true {
      if let result = job.result { return try result.get() }
      let effects = await carryOut(&job)
      for effect in effects { perform(effect, job) }
    }
  }

  // MARK: states

  private func carryOut(_ job: inout Job) async -> [SignOutMachine.Effect] {
    switch job.machine.state {
    case .committing: return await commit(&job)
    case .releasing:
      dependencies.demands.forget(job.account.id)
      await job.account.release(.token(.signedOut, job.account.id))
      return job.machine.released()
    case .releasingHeldAnswer:
      let held = await job.account.releaseHeldAnswer()
      if let held { job.entries[held.id] = held }
      return job.machine.releasedHeldAnswer(held?.id)
    case .postponing(let entry, _):
      // It waits since it was made: the sign-out is known to be offline.
      if let entry = job.entries[entry] { await revocations.schedule(entry) }
      return job.machine.postponed()
    case .queueing(let departure):
      for entry in departure.entries { if let entry = job.entries[entry] { await revocations.schedule(entry) } }
      return job.machine.queued()
    case .revoking(let entries, _):
      let outcome = await revoke(entries.compactMap { job.entries[$0] }, within: job.revocationTimeoutSeconds)
      return job.machine.revoked(outcome)
    case .signedOut(let outcome):
      var answer = Answer(outcome: outcome, mode: job.machine.mode, endSessionURL: job.signedOut?.endSessionURL)
      if [.queued, .refused].contains(outcome.revocation) { answer.nextAttemptAt = await nextAttempt(of: job) }
      job.result = .success(answer)
      return []
    case .failed: return []
    }
  }

  private func commit(_ job: inout Job) async -> [SignOutMachine.Effect] {
    // Before the commit, after which an answer in flight comes too late.
    let wasOffline = await job.account.signsOut(offline: job.machine.staysOffline)
    do throws(AgentFailure) {
      let (id, mode, tokens) = (job.account.id, job.machine.mode, await job.account.liveTokens)
      let staysOffline = job.machine.staysOffline
      let done = try await dependencies.vault.commit { vault throws(AgentFailure) in
        try vault.signOuts.signOut(id, mode, staysOffline: staysOffline, accessTokens: tokens)
      }
      let entries = [done.entry].compactMap { $0 } + done.others
      job.entries = Dictionary(uniqueKeysWithValues: (entries + done.earlier).map { ($0.id, $0) })
      job.signedOut = done
      return job.machine.committed(
        SignOutMachine.Departure(
          wasActive: done.wasActive, entries: entries.map(\.id), earlier: done.earlier.map(\.id),
          isErased: done.erased.contains(id), isUnrevocable: done.isUnrevocable))
    } catch {
      _ = await job.account.signsOut(offline: wasOffline)
      job.result = .failure(error)
      return job.machine.refused()
    }
  }

  /// Nil if it is being sent now.
  private func nextAttempt(of job: Job) async -> Timestamp? {
    let ids = Set(job.entries.keys)
    let waiting = try? await dependencies.vault.read { vault throws(AgentFailure) in
      try vault.outbox.entries().filter { ids.contains($0.id) }
    }
    return waiting?.compactMap { entry -> Timestamp? in
      let now = dependencies.time.now(for: entry.provider)
      guard !RevocationOutbox.isDue(entry.nextAttemptAt, at: now) else { return nil }
      return entry.nextAttemptAt
    }.min()
  }

  /// Revokes the tokens; nil if that takes longer than `seconds`: then the attempts continue in the background.
  private func revoke(_ entries: [OutboxEntry], within seconds: Int) async -> RevocationOutcome? {
    let (background, revocations) = (dependencies.background, revocations)
    let outcome = try? await withDeadline(seconds: seconds, clock: dependencies.environment.clock) {
      () async throws(AgentFailure) -> RevocationOutcome? in
      await background.race {
        await withTaskGroup(of: (Int, RevocationOutcome).self) { group in
          for (number, entry) in entries.enumerated() {
            group.addTask { (number, await revocations.settle(entry)) }
          }
          var outcomes = [RevocationOutcome](repeating: .queued, count: entries.count)
          for await (number, outcome) in group { outcomes[number] = outcome }
          return RevocationOutcome.joined(outcomes)
        }
      }
    }
    return outcome ?? nil
  }

  // MARK: effects

  private func perform(_ effect: SignOutMachine.Effect, _ job: Job) {
    guard let done = job.signedOut else { return }
    let (id, events) = (job.account.id, dependencies.events)
    switch effect {
    case .tellState where done.previousState == .signedOut: break  // a hard sign-out after a soft one
    case .tellState:
      let since = done.profile.stateSince.map { dependencies.time.wall($0, of: done.profile.provider) }
      events.publish(.sessionStateChanged(.signedOut, previous: done.previousState, since: since), account: id)
    case .tellSwitched: events.publish(.accountSwitched(active: nil, previous: id), account: id)
    case .send(let entry):
      guard let entry = job.entries[entry] else { return }
      dependencies.background.start { [revocations] in _ = await revocations.send(entry) }
    case .tellSignedOut(let outcome):
      done.orphaned.tell(events, of: id)
      events.publish(
        .accountSignedOut(job.machine.mode, data: outcome.data, revocation: outcome.revocation), account: id)
    case .tellErased: for erased in done.erased { events.publish(.accountErased, account: erased) }
    }
  }
}

extension SignedOut {
  /// The URL at which the browser ends the provider's own session (OpenID Connect RP-Initiated Logout §2).
  var endSessionURL: Secret? {
    // A machine has no session in a browser.
    guard let provider, provider.configuration.kind == .openid,
      let endpoint = provider.endpoints.endSession.flatMap(HTTPURL.init)
    else { return nil }
    var parameters = FormBody()
    if let idToken { parameters.append("id_token_hint", idToken) }
    parameters.append("client_id", provider.configuration.clientID)
    // A provider refuses the whole request for an unregistered page, so send only a configured one.
    if let uri = provider.configuration.postLogoutRedirectURI { parameters.append("post_logout_redirect_uri", uri) }
    var url = SecretBuilder(capacity: 4096)
    url.append(endpoint.text)
    // The endpoint's own query is kept (RFC 6749 §3.1).
    url.append(endpoint.query.map { $0.isEmpty ? "" : "&" } ?? "?")
    url.append(parameters.finish())
    return url.finish()
  }
}
