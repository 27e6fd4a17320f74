internal import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentPorts
package import AgentRecords
internal import AgentSessions
package import AgentStore
package import Secrets

extension SignInCoordinator {
  /// Takes over a refresh token from elsewhere: it is used at once, so that the agent owns its lineage. If that fails,
  /// nothing is kept. The agent looks for every obstacle first, since the token may be good only once.
  ///
  /// A token that was taken over before is not sent again while its account's session lives: a provider that rotates
  /// ends the session if it comes back (RFC 9700 §4.14.2). Imports of one token are done one after the other, so that
  /// the later ones find what the first one brought, also if an end of the agent interrupted it.
  package func takeOver(
    _ refreshToken: Secret, provider name: String, alias: Alias?, by limits: EffectiveGrant?
  ) async throws(AgentFailure) -> AccountID {
    let digest = Fingerprint.number(of: refreshToken)
    let place = Self.place(of: digest)
    while !importing.insert(place).inserted {
      let waiter = waiters.newID()
      await withCheckedContinuation { waiters.add(waiter, for: place, until: nil, $0) }
    }
    defer { leave(place) }
    try await takeEnds(of: digest)
    let provider = try await providers.provider(name) { $0.authorization != nil && $0.token != nil }
    // No key was there when the token was issued, and it may be good only once.
    if provider.refusesBearerTokens { throw .signIn(.notBound) }
    if let alias { try await requirePossible(alias, at: provider) }
    let (known, earlier) = try await dependencies.vault.read { vault throws(AgentFailure) in
      let name = provider.configuration.name
      return (
        vault.directory.account(ofImported: digest, at: name), vault.imports.intent(of: digest, at: name)
      )
    }
    if let known, known.hasLivingSession { return try await answer(known, alias, by: limits) }
    let request = ExchangeIntent(
      attempt: 0, epoch: 0, generation: 0, fingerprint: Fingerprint.of(refreshToken), wall: clock.wall(),
      bootID: clock.bootID, boot: clock.boot(), key: .standard, isReplay: false,
      nonce: dependencies.environment.entropy.bytes(ExchangeIntent.nonceBytes))
    var intent = ImportIntent(
      request, of: digest, at: provider.configuration.name, alias: alias, covered: limits?.permission.accounts)
    if let earlier {
      let repeated = RepeatedImport(
        earlier.journal, rule: provider.refreshRule, bootID: clock.bootID, at: clock.boot())
      switch repeated {
      case .goOn: return try await answer(resume(earlier), alias, by: limits)
      case .wait(let pause): throw .signIn(.exchange(.transient("noAnswer", retryAfter: pause)))
      case .refuse: throw .signIn(.importedTokenSpent(.signIn(.exchange(.unknownOutcome("lost")))))
      case .send(let lostReplays): intent.replace(earlier, lostReplays: lostReplays)
      }
    }
    try await groups.requireWritable()
    let client = dependencies.client(of: provider)
    let hold = await admission.hold(provider)
    defer { hold.end() }
    guard !isOver else { throw .shuttingDown }
    let answer = await client.refresh(refreshToken, key: .standard) { [intent] in await self.mayLeave(intent) }
    if let failure = unjournaled.removeValue(forKey: intent.id) {
      // It may be stored without its mark.
      await end(intent, with: earlier.map { .begin($0) } ?? .end(intent.id))
      throw failure
    }
    let (figures, issuer) = (dependencies.environment.figures, provider.configuration.issuer)
    switch answer {
    case .failed(let failure):
      figures.grantEnded(.import, failure, issuer: issuer)
      await end(intent, after: failure, rule: provider.refreshRule, earlier)
      if case .reauthenticate = failure, known != nil { throw .signIn(.importedBefore) }
      throw .signIn(.exchange(failure))
    case .answered(let body, let sentAt):
      figures.grantEnded(.import, nil, issuer: issuer)
      intent.request.boot = sentAt
      return try await admission.admit(
        SignInAdmission.IssuedAnswer(
          of: StagedImport(intent, body: body, imported: refreshToken, sender: provider), sentAt, isResumed: false,
          scopes: provider.configuration.scopes, holding: hold),
        client, of: self
      ).profile.id
    }
  }

  private static func place(of digest: Int64) -> String { "imp_\(digest)" }

  private func leave(_ place: String) {
    importing.remove(place)
    waiters.resumeAll(for: place)
  }

  /// The connection stands, and no byte of the request has left: the intent is written now, and then the mark that it
  /// leaves. False if the request must not leave.
  private func mayLeave(_ intent: ImportIntent) async -> Bool {
    do throws(AgentFailure) {
      guard !isOver else { throw .shuttingDown }
      try await groups.take(.begin(intent))
      try await groups.take(.mark(intent))
      return true
    } catch {
      unjournaled[intent.id] = error
      return false
    }
  }

  private func end(
    _ intent: ImportIntent, after failure: ExchangeFailure, rule: ProviderConfiguration.RefreshRule,
    _ earlier: ImportIntent?
  ) async {
    switch RepeatedImport.end(after: failure, rule: rule, isReplay: intent.request.isReplay) {
    case .request: break
    case .earlier: await end(intent, with: earlier.map { .begin($0) } ?? .end(intent.id))
    case .nothing: await end(intent, with: .end(intent.id))
    }
  }

  /// A locked vault or a full disk takes this later: else a request would stay in doubt that is not.
  func end(_ intent: ImportIntent, with step: ImportJournal.Step) async {
    do throws(AgentFailure) {
      try await groups.take(step)
    } catch {
      unended[intent.digest, default: []].append(step)
      // An unlocking goes on with the imports by itself.
      if !error.isLocked { resumeLater() }
    }
  }

  /// Ends the imports of a token that could not be ended when they were over.
  private func takeEnds(of digest: Int64) async throws(AgentFailure) {
    while let step = unended[digest]?.first {
      try await groups.take(step)
      unended[digest]?.removeFirst()
      if case .end(let id) = step { await endHold(of: id) }
    }
    unended[digest] = nil
  }

  private func takeEnds() async {
    for digest in unended.keys.sorted() {
      let place = Self.place(of: digest)
      guard importing.insert(place).inserted else { continue }
      defer { leave(place) }
      do throws(AgentFailure) {
        try await takeEnds(of: digest)
      } catch {
        if !error.isLocked { resumeLater() }
      }
    }
  }

  /// The account that an earlier import of the token brought, under the alias of this one.
  private func answer(
    _ known: AccountProfile, _ alias: Alias?, by limits: EffectiveGrant?
  ) async throws(AgentFailure) -> AccountID {
    if let limits, !limits.covers(known.id) { throw .caller(.notCovered) }
    guard let alias, alias != known.alias else { return known.id }
    return try await dependencies.vault.commit { vault throws(AgentFailure) in
      try vault.accounts.rename(.id(known.id), to: alias)
    }
  }

  // MARK: after an end of the agent, or a locking

  /// The pause until imports that wait for their provider are gone on with again.
  private static let pause = Milliseconds.seconds(300)
  /// The time of one process in which an import waits for its provider; then its token is revoked.
  private static let patience = Milliseconds.seconds(24 * 60 * 60)

  /// Goes on with the imports whose answers are in the journal: to an account, or else to the outbox.
  package func resumeImports() async {
    await takeEnds()
    let waiting = await answeredImports()
    guard !waiting.isEmpty else { return }
    for intent in waiting where !isOver {
      let place = Self.place(of: intent.digest)
      // One that is under way ends by itself.
      guard importing.insert(place).inserted else { continue }
      defer { leave(place) }
      do throws(AgentFailure) {
        let profile = try await resume(intent)
        dependencies.environment.log.log(
          .notice, "an interrupted import was finished", [(.account, .hashed(profile.id.text))])
      } catch {
        dependencies.environment.log.log(
          .warning, "an interrupted import was not finished",
          [(.provider, .hashed(intent.provider.text)), (.error, .name(error.kind.rawValue))])
      }
    }
    if await !answeredImports().isEmpty { resumeLater() }
  }

  private func resumeLater() {
    guard !isOver else { return }
    resumption.set(clock.boot() + Self.pause) {
      await self.resumeImports()
      return nil
    }
  }

  /// The store took nothing now: the token of an import of which no account may come goes to the outbox later.
  func disownLater(_ imported: StagedImport) {
    disowned.insert(imported.intent.id)
    resumeLater()
  }

  /// True while an import whose provider does not answer now waits for it.
  func mayWait(_ imported: StagedImport?) -> Bool {
    guard let id = imported?.intent.id else { return false }
    let since = resumedAt[id] ?? clock.boot()
    let waits = clock.boot() < since + Self.patience
    resumedAt[id] = waits ? since : nil
    return waits
  }

  /// Before anything that waits is sent: holds back what could end the logins that stored answers bring.
  package func holdForImports() async {
    for intent in await answeredImports() where !isOver {
      guard let found = try? await find(intent) else { continue }
      _ = await hold(found.staged, found.live)
      // A caller may have gone on with it meanwhile.
      await endHold(of: intent.id)
    }
  }

  private func answeredImports() async -> [ImportIntent] {
    (try? await dependencies.vault.read { vault throws(AgentFailure) in vault.imports.answered }) ?? []
  }

  /// One hold for each stored answer, until an account or the outbox has it.
  private func hold(_ staged: StagedImport, _ live: Provider?) async -> RevocationHold {
    let id = staged.intent.id
    if let hold = importHolds[id] { return hold }
    let hold = await admission.hold(live ?? staged.sender)
    guard let earlier = importHolds[id] else {
      importHolds[id] = hold
      return hold
    }
    hold.end()
    return earlier
  }

  private func endHold(of id: [UInt8]) async {
    // A locked vault keeps its imports.
    let isOver = try? await dependencies.vault.read { vault throws(AgentFailure) in !vault.imports.isAnswered(id) }
    if isOver == true { importHolds.removeValue(forKey: id)?.end() }
  }

  private typealias FoundImport = (staged: StagedImport, live: Provider?, isDamaged: Bool)

  private func find(_ intent: ImportIntent) async throws(AgentFailure) -> FoundImport {
    try await dependencies.vault.read { vault throws(AgentFailure) -> FoundImport in
      guard let staged = try vault.imports.staged(intent.id) else { throw .signIn(.cancelled) }
      return (
        staged, vault.providerTable.all[intent.provider], try vault.providers.isDamaged(intent.provider)
      )
    }
  }

  private func resume(_ intent: ImportIntent) async throws(AgentFailure) -> AccountProfile {
    let result: Result<AccountProfile, AgentFailure>
    do throws(AgentFailure) { result = .success(try await goOn(with: intent)) } catch { result = .failure(error) }
    await endHold(of: intent.id)
    return try result.get()
  }

  private func goOn(with intent: ImportIntent) async throws(AgentFailure) -> AccountProfile {
    let (staged, found, isDamaged) = try await find(intent)
    let hold = await hold(staged, found)
    // What can't be read now may be restored, and an administrator's file may come back.
    if isDamaged { throw .provider(.damaged(nil)) }
    if let found, found.isGone { throw .provider(.fileGone(found.managedBy ?? "")) }
    let answer = SignInAdmission.IssuedAnswer(
      of: staged, staged.intent.request.bootID == clock.bootID ? staged.intent.request.boot : nil, isResumed: true,
      scopes: found?.configuration.scopes ?? [], holding: hold)
    guard !disowned.contains(intent.id), let live = found, live.mayReceive(staged.sender.issuingClient) else {
      disowned.remove(intent.id)
      _ = await admission.disown(answer, isStaged: true, at: staged.sender, of: nil, self)
      throw .signIn(.cancelled)
    }
    let admitted = try await admission.admit(answer, dependencies.client(of: live), of: self)
    resumedAt[intent.id] = nil
    return admitted.profile
  }
}
