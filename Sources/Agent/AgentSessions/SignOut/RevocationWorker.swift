package import AgentCore
package import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentRecords
package import AgentStore
internal import Secrets

/// Revokes the tokens in the outbox: at once if the provider can be reached, otherwise later in the background.
package actor RevocationWorker {
  private let dependencies: AccountDependencies
  /// The entries in flight: at most one request each.
  private var inFlight: Set<[UInt8]> = []
  /// The callers that wait for the end of a request, by entry.
  private var waiting: [[UInt8]: [CheckedContinuation<RevocationOutcome, Never>]] = [:]
  /// The next attempt of each entry. Holds ids and no tokens, since the vault may be locked meanwhile.
  private var attempts: [[UInt8]: Attempt] = [:]
  private let alarm: Alarm
  /// The entries that each sign-in in progress holds back.
  private var holds: [UInt64: Hold] = [:]
  private var lastHold: UInt64 = 0
  /// The entries whose attempts came up meanwhile.
  private var heldBack: Set<[UInt8]> = []

  private struct Attempt {
    var moment: Timestamp
    var due: BootInstant
  }

  private struct Hold {
    let client: IssuingClient
    let entries: Set<[UInt8]>
  }

  package init(dependencies: AccountDependencies) {
    self.dependencies = dependencies
    alarm = Alarm(clock: dependencies.environment.clock, background: dependencies.background)
  }

  private var clock: any AgentClock { dependencies.environment.clock }

  package enum Resumption {
    /// After a start or an unlock: tries the due entries.
    case due
    /// The provider may be reachable again: tries the entries that it never answered. A provider that answered asked
    /// for patience (503, 401), and a network that comes and goes is no reason to have less.
    case unreached
    /// This provider was configured anew: tries the entries that it refused.
    case reconfigured(ProviderName)

    fileprivate func concerns(_ entry: OutboxEntry) -> Bool {
      switch self {
      // An entry that was never tried was written without a network: a start is the next occasion.
      case .due: entry.attempts == 0
      case .unreached: entry.lastError.map { $0 == RevocationWorker.word(.none) } ?? true
      case .reconfigured(let provider): entry.provider == provider && entry.lastError == RevocationWorker.refusal
      }
    }
  }

  /// Tries the entries that `resumption` allows, and schedules the others.
  package func resume(_ resumption: Resumption) async {
    guard let entries = try? await outbox() else { return }
    for entry in entries {
      if resumption.concerns(entry) {
        dependencies.background.start { _ = await self.send(entry) }
      } else {
        begin(entry)
      }
    }
  }

  // MARK: sign-ins

  /// At a sign-in: tries the outstanding revocations of this person by this client now. `identity` is nil while the agent
  /// does not know yet who signs in.
  package func drain(_ client: IssuingClient, of identity: Identity?) async {
    await withPatience((try? await entries(of: identity, by: client)) ?? []) { _ = await self.settle($0) }
  }

  /// Holds back what waits for this client while a request is on its way that may bring a login: the answer may have the
  /// very token, or one of its family. Waits for the attempts in flight, since their end must come before the request.
  package func hold(_ client: IssuingClient) async -> UInt64 {
    let entries = (try? await entries(of: nil, by: client)) ?? []
    lastHold += 1
    let hold = lastHold
    holds[hold] = Hold(client: client, entries: Set(entries.map(\.id)))
    await withPatience(entries.filter { inFlight.contains($0.id) }) { await self.endOfFlight($0) }
    return hold
  }

  /// The login is stored, so that what would end it is gone, or there is none. Does nothing the second time.
  ///
  /// - Parameter person: who signed in. What still waits for them is tried at once.
  package func release(_ hold: UInt64, of person: Identity?) async {
    guard let hold = holds.removeValue(forKey: hold), !hold.entries.isEmpty else { return }
    let due = hold.entries.intersection(heldBack).filter { !isHeld($0) }
    heldBack.subtract(due)
    if !due.isEmpty, let entries = try? await outbox() {
      for entry in entries where due.contains(entry.id) {
        dependencies.background.start { _ = await self.send(entry) }
      }
    }
    guard let person, let entries = try? await entries(of: person, by: hold.client) else { return }
    await withPatience(entries.filter { hold.entries.contains($0.id) }) { _ = await self.settle($0) }
  }

  private func isHeld(_ id: [UInt8]) -> Bool { holds.values.contains { $0.entries.contains(id) } }

  private func entries(of identity: Identity?, by client: IssuingClient) async throws(AgentFailure) -> [OutboxEntry] {
    try await dependencies.vault.read { vault throws(AgentFailure) in
      try vault.outbox.entries(of: identity, by: client)
    }
  }

  /// Does this for all entries at once, for as long as a person in front of the browser waits.
  private func withPatience(
    _ entries: [OutboxEntry], _ body: @escaping @Sendable (OutboxEntry) async -> Void
  ) async {
    guard !entries.isEmpty else { return }
    let background = dependencies.background
    _ = try? await withDeadline(seconds: Self.drainSeconds, clock: clock) { () async throws(AgentFailure) in
      await withDiscardingTaskGroup { group in
        for entry in entries {
          group.addTask { _ = await background.race { await body(entry) } }
        }
      }
    }
  }

  // MARK: attempts

  /// Tries an entry in the background; one that was put off, when its time has come.
  package func begin(_ entry: OutboxEntry) {
    guard RevocationOutbox.isDue(entry.nextAttemptAt, at: now(for: entry)) else { return schedule(entry) }
    dependencies.background.start { _ = await self.send(entry) }
  }

  /// Before operations of an account go: tries its revocations that are due, or that never reached the provider.
  package func drainDue(_ provider: ProviderName, of identity: Identity) async {
    let entries = try? await dependencies.vault.read { vault throws(AgentFailure) in
      try vault.outbox.entries(of: identity, at: provider)
    }
    let now = dependencies.time.now(for: provider)
    for entry in entries ?? []
    where RevocationOutbox.isDue(entry.nextAttemptAt, at: now) || Resumption.unreached.concerns(entry) {
      _ = await settle(entry)
    }
  }

  /// Tries an entry, or waits for its attempt in flight: a revocation that ends whole grants must precede a new
  /// sign-in.
  func settle(_ entry: OutboxEntry) async -> RevocationOutcome {
    if let outcome = await endOfFlight(entry) { return outcome }
    return await send(entry)
  }

  /// Nil if the entry is not in flight.
  @discardableResult
  private func endOfFlight(_ entry: OutboxEntry) async -> RevocationOutcome? {
    guard inFlight.contains(entry.id) else { return nil }
    return await withCheckedContinuation { waiting[entry.id, default: []].append($0) }
  }

  private func ended(_ id: [UInt8], _ outcome: RevocationOutcome) {
    inFlight.remove(id)
    for caller in waiting.removeValue(forKey: id) ?? [] { caller.resume(returning: outcome) }
  }

  /// A person waits in front of the browser (docs/sign-out.md, Outbox).
  static let drainSeconds = 5

  /// Tries one entry. The result says what is known of the token now.
  package func send(_ entry: OutboxEntry) async -> RevocationOutcome {
    guard !isHeld(entry.id) else {
      heldBack.insert(entry.id)
      return .queued
    }
    guard inFlight.insert(entry.id).inserted else { return .queued }
    let outcome = await trySending(entry)
    ended(entry.id, outcome)
    return outcome
  }

  private func trySending(_ entry: OutboxEntry) async -> RevocationOutcome {
    // Another attempt may have ended the entry since it was read.
    guard let current = try? await outbox().first(where: { $0.id == entry.id }) else {
      return .queued
    }
    let found: RevocationOutboxStore.Sender?
    do throws(AgentFailure) {
      let read = try await dependencies.vault.read { vault throws(AgentFailure) in
        (
          sender: try vault.outbox.sender(of: current), maySend: try vault.outbox.maySend(),
          endsLogin: vault.outbox.endsLoginNow(current)
        )
      }
      // The entry waits, and is never tried again: this agent stays an old copy's.
      guard read.maySend else { return .queued }
      guard !read.endsLogin else {
        await giveUp(current, reason: "superseded")
        return .abandoned
      }
      found = read.sender
    } catch {
      // Locked, or its provider's record does not open now: the entry waits for the next occasion.
      return .queued
    }
    guard let found, found.provider.canRevoke else {
      await giveUp(current, reason: "unsupported")
      return .unsupported
    }
    let isSecret = found.provider.configuration.kind == .secret
    let answer =
      isSecret
      ? await client(found).revokeSecret(current.token, username: current.username)
      : await client(found).revoke(current.token, current.kind)
    let jitter = dependencies.environment.entropy.fraction()
    let tried = current.tried(because: Self.word(answer), isAnswered: answer != .none)
    let isOwnRequest = found.provider.revokesByOwnRequest
    switch RevocationOutbox.verdict(answer, toOwnRequest: isOwnRequest, attempts: current.attempts + 1, jitter: jitter)
    {
    case .confirmed:
      await wasConfirmed(current)
      return .confirmed
    case .unsupported:
      await giveUp(current, reason: "unsupported")
      return .unsupported
    case .refusedForGood:
      await giveUp(current, reason: "refused")
      return .refused
    case .refused where isOver(tried), .again where isOver(tried):
      await giveUp(current, reason: "expired")
      return .abandoned
    case .refused(let pause):
      let isThere = await postpone(current.tried(because: Self.refusal, isAnswered: true), by: pause)
      return isThere ? .refused : .queued
    case .again(let pause):
      await postpone(tried, by: pause)
      return .queued
    }
  }

  /// If the disk fails now, the entry is sent once more: a second revocation changes nothing (RFC 7009 §2.2). So it is
  /// after the unlocking, if the vault was locked meanwhile, and that one is told.
  private func wasConfirmed(_ entry: OutboxEntry) async {
    do throws(AgentFailure) {
      try await dependencies.vault.commit { vault throws(AgentFailure) in
        vault.outbox.remove(entry, .revocationConfirmed)
      }
    } catch {
      if error.isLocked { return }
    }
    left(entry)
    dependencies.events.publish(
      .revocationConfirmed(revocation: entry.name, issuer: entry.issuer), about: await account(of: entry))
  }

  /// False if the entry was given up or superseded while it was on its way: then it does not come back.
  @discardableResult
  private func postpone(_ tried: OutboxEntry, by pause: Milliseconds) async -> Bool {
    var entry = tried
    entry.nextAttemptAt = now(for: entry) + pause
    entry.lastErrorAt = now(for: entry)
    let isThere = try? await dependencies.vault.commit { [entry] vault throws(AgentFailure) in
      try vault.outbox.reschedule(entry)
    }
    guard isThere != false else { return false }
    schedule(entry)
    return true
  }

  /// A removed provider's host says nothing of the network, and its documents are not read again.
  private func client(_ sender: RevocationOutboxStore.Sender) -> ProviderClient {
    sender.isConfigured ? dependencies.client(of: sender.provider) : plainClient(of: sender.provider)
  }

  private func plainClient(of provider: Provider) -> ProviderClient {
    ProviderClient(provider: provider, dependencies: .init(dependencies.environment, time: dependencies.time))
  }

  /// Deregisters a client that the agent registered itself (RFC 7592), once no provider has it and no revocation needs
  /// it. While one waits, the end of that one calls this again.
  package func unregister(_ client: Provider) async {
    guard let registration = client.registration else { return }
    let isOver = try? await dependencies.vault.read { vault throws(AgentFailure) -> Bool in
      if try vault.outbox.needs(client) { return false }
      return try vault.outbox.maySend()
    }
    guard isOver == true else { return }
    await plainClient(of: client).registrar.unregister(registration)
  }

  /// The entry has left the outbox. It may have been the last one of a client that is not configured any more.
  private func left(_ entry: OutboxEntry) {
    guard let client = entry.sender, client.registration != nil else { return }
    dependencies.background.start { await self.unregister(client) }
  }

  fileprivate static let refusal = FailureKind.providerMisconfigured.rawValue

  fileprivate static func word(_ answer: RevocationOutbox.Answer) -> String {
    switch answer {
    case .none: FailureKind.offline.rawValue
    case .response: FailureKind.providerUnavailable.rawValue
    }
  }

  private func isOver(_ entry: OutboxEntry) -> Bool {
    dependencies.time.moment().map { entry.isOver(at: $0.lived) } ?? false
  }

  private func giveUp(_ entry: OutboxEntry, reason: String) async {
    do throws(AgentFailure) {
      try await dependencies.vault.commit { vault throws(AgentFailure) in
        vault.outbox.remove(entry, .revocationAbandoned, reason: reason)
      }
    } catch {
      if error.isLocked { return }
    }
    left(entry)
    await tellAbandoned(entry, reason)
  }

  private func tellAbandoned(_ entry: OutboxEntry, _ reason: String) async {
    dependencies.events.publish(
      .revocationAbandoned(revocation: entry.name, issuer: entry.issuer, reason: reason),
      about: await account(of: entry))
  }

  /// By the time of its provider, as far as the agent knows it.
  private func now(for entry: OutboxEntry) -> Timestamp { dependencies.time.now(for: entry.provider) }

  /// Abandons an entry at the person's request.
  package func abandon(_ entry: OutboxEntry) async throws(AgentFailure) {
    try await dependencies.vault.commit { vault throws(AgentFailure) in
      vault.outbox.remove(entry, .revocationAbandoned, reason: "requested")
    }
    left(entry)
    await tellAbandoned(entry, "requested")
  }

  /// Tries an entry again when its `nextAttemptAt` has come.
  func schedule(_ entry: OutboxEntry) {
    let moment = entry.nextAttemptAt
    guard attempts[entry.id]?.moment != moment else { return }
    let due = clock.boot() + (moment - now(for: entry))
    attempts[entry.id] = Attempt(moment: moment, due: due)
    alarm.set(due) { await self.sendDue() }
  }

  private func sendDue() async -> BootInstant? {
    let now = clock.boot()
    let due = attempts.filter { $0.value.due <= now }.sorted { a, b in
      a.value.due == b.value.due ? a.key.lexicographicallyPrecedes(b.key) : a.value.due < b.value.due
    }
    for (id, _) in due { attempts[id] = nil }
    if !due.isEmpty, let entries = try? await outbox() {
      for (id, _) in due {
        guard let entry = entries.first(where: { $0.id == id }) else { continue }
        dependencies.background.start { _ = await self.send(entry) }
      }
    }
    return attempts.values.map(\.due).min()
  }

  /// Cancels all attempts until the unlock; `resume` then checks all entries.
  package func vaultWasLocked() {
    attempts = [:]
    heldBack = []
    alarm.clear()
  }

  private func outbox() async throws(AgentFailure) -> [OutboxEntry] {
    try await dependencies.vault.read { vault throws(AgentFailure) in try vault.outbox.entries() }
  }

  /// The account of the token, for events; nil while the vault is locked.
  private func account(of entry: OutboxEntry) async -> AccountID? {
    (try? await dependencies.vault.read { vault throws(AgentFailure) in vault.outbox.account(of: entry) }) ?? nil
  }
}
