internal import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentRecords
package import AgentStore
package import AgentVault
internal import Synchronization

/// Records in the audit log (docs/storage.md, Audit): charges quotas, records decisions, and settles the repeats that
/// are counted between two commits.
///
/// Only `VaultActor` calls it: nothing awaits, so that a check and its commit stay one step. Its lock is there because a
/// published table is `Sendable`.
package final class AuditRecorder: PublishedTable, VaultWatcher {
  private enum Outcome {
    case untrue
    case refused(AgentFailure)
    case counted([AuditPlace])
    case admitted(Int)
  }

  /// From the first repeat in the journal to the commit that takes it into the log.
  package static let repeatPause = Milliseconds(100)
  /// After so long without a repeat each takes a commit again.
  private static let repeatIdle = Milliseconds.seconds(2)
  private static let quotaName = "new audit entries of one client in an hour"

  /// Beyond these the oldest are lost.
  private static let mostMissedEntries = 16

  private struct State {
    var quota = AuditQuota()
    /// When repeats of decisions were last taken into the log.
    var settledAt = BootInstant(milliseconds: 0)
    /// Entries about openings and lockings that a full disk did not take: the next change with an entry brings them.
    var missed: [VaultChange] = []
    /// How many of them the commit under way brings.
    var carried = 0
  }
  private let state = Mutex(State())

  package init() {}

  // MARK: security events

  /// Prepares the audit entries among the changes. Decisions that an event concerns are repeated no more before it is
  /// written, so that no repeat stands after it.
  package func completed(
    _ changes: [VaultChange], in vault: OpenVault, for actor: isolated VaultActor
  ) throws(AgentFailure) -> [VaultChange] {
    let hasEntry = changes.contains { $0.auditEntry != nil }
    let missed = state.withLock { state in
      state.carried = hasEntry ? state.missed.count : 0
      return hasEntry ? state.missed : []
    }
    let decisions = vault.tables.decisions
    // No repeat of a decision from before stands after them.
    if !missed.isEmpty { decisions.withdrawAll() }
    var audited = try charged(changes, clock: vault.clock)
    let entries = changes.compactMap(\.auditEntry)
    for entry in entries where entry.ring == .security {
      if let account = entry.account.flatMap({ AccountID($0) }) {
        decisions.withdraw(account)
      } else {
        decisions.withdrawAll()
      }
    }
    let takesRepeats = !entries.isEmpty || changes.repeatCounting != nil
    if takesRepeats, vault.records.repeats.lacksSome { audited.append(vault.audited(.auditGap)) }
    return missed + audited
  }

  package func committed() {
    state.withLock { state in
      state.missed.removeFirst(state.carried)
      state.carried = 0
    }
  }

  var missedEntries: [VaultChange] { state.withLock { $0.missed } }

  fileprivate func missed(_ entry: VaultChange) {
    state.withLock { $0.missed = ($0.missed + [entry]).suffix(Self.mostMissedEntries) }
  }

  /// Takes the security events among the changes from their client's quota. Beyond it a change that can wait is
  /// refused; what can't wait is done, and counted in an equal entry among the newest.
  private func charged(_ changes: [VaultChange], clock: any AgentClock) throws(AgentFailure) -> [VaultChange] {
    var charged = changes
    for (index, change) in changes.enumerated() {
      guard case .audit(var entry) = change, entry.ring == .security,
        let wait = take(1, of: .security, by: entry.clients, at: clock.boot())
      else { continue }
      if entry.isRefusable { throw .overloaded(Self.quotaName, retryAfter: wait) }
      entry.coalesces = true
      charged[index] = .audit(entry)
    }
    return charged
  }

  // MARK: decisions

  static func record(
    _ requests: [AuditWriter.Request], for actor: isolated VaultActor
  ) throws(AgentFailure) -> [Result<[String]?, AgentFailure>] {
    try actor.dependencies.tables[AuditRecorder.self].record(requests, for: actor)
  }

  /// Records the decisions of several requests. Returns for each request the ids under which the log has them, nil if
  /// they are not true any more, and a failure if its client is over its quota.
  private func record(
    _ requests: [AuditWriter.Request], for actor: isolated VaultActor
  ) throws(AgentFailure) -> [Result<[String]?, AgentFailure>] {
    let vault = try actor.unlocked()
    let clock = actor.dependencies.clock
    var admitted: [AuditWriter.Request] = []
    // How many of the admitted entries are new: the others are counted in an entry that is there.
    var new = 0
    // Of the admitted requests before: none of them is committed yet.
    var taken = BudgetStore.Taken()
    let outcomes = requests.map { request -> Outcome in
      guard request.areTrue(vault) else { return .untrue }
      let taking: BudgetStore.Taken
      do throws(AgentFailure) {
        guard let after = try vault.budgets.taking(request.uses, after: taken) else { return .untrue }
        taking = after
      } catch {
        return .refused(error)
      }
      if request.uses.isEmpty, let places = counted(request, in: vault) { return .counted(places) }
      let added = request.entries.count { vault.audit.place(of: $0) == nil }
      let clients = request.entries.first?.clients ?? []
      if let wait = take(Int64(added), of: .decisions, by: clients, at: clock.boot()) {
        return .refused(.overloaded(Self.quotaName, retryAfter: wait))
      }
      new += added
      taken = taking
      admitted.append(request)
      return .admitted(request.entries.count)
    }
    var places: ArraySlice<AuditPlace> = []
    if !admitted.isEmpty {
      let entries = admitted.flatMap(\.entries)
      actor.dependencies.tables.decisions.withdraw(
        before: vault.records.audit.firstOpenDecision(afterAdding: new))
      let counting = counting(entries, in: vault, boot: clock.bootID)
      places = try actor.commit(
        vault.audit.append(entries, counting: counting, spending: vault.budgets.changes(taken)), to: vault)[...]
    }
    return zip(requests, outcomes).map { request, outcome in
      let found: [AuditPlace]
      switch outcome {
      case .untrue: return .success(nil)
      case .refused(let failure): return .failure(failure)
      case .counted(let places): found = places
      case .admitted(let count):
        found = Array(places.prefix(count))
        places = places.dropFirst(count)
      }
      publish(request, found, in: vault, for: actor)
      return .success(found.map(\.name))
    }
  }

  /// Counts a request without a commit: all its entries are repeats, and the policy permits it. Nil if that can't be.
  private func counted(_ request: AuditWriter.Request, in vault: OpenVault) -> [AuditPlace]? {
    let repeats = vault.records.repeats.counter
    guard repeats.isOpen, request.entries.allSatisfy(\.isBatched) else { return nil }
    let places = request.entries.compactMap { vault.audit.place(of: $0)?.place }
    guard places.count == request.entries.count else { return nil }
    for (place, entry) in zip(places, request.entries) {
      // What was counted so far may be counted again by the commit that follows: the log never tells too few.
      guard repeats.count(place.sequence, at: entry.at) else { return nil }
    }
    return places
  }

  /// How repeats are counted after a commit of these decisions: in the journal once one that may be comes again soon.
  private func counting(_ entries: [AuditEntry], in vault: OpenVault, boot: String) -> RepeatCounting {
    let isFrequent = entries.contains { entry in
      guard entry.isBatched, let lastAt = vault.audit.place(of: entry)?.lastAt else { return false }
      return entry.at - lastAt < Self.repeatIdle
    }
    return isFrequent ? .inJournal(boot: boot) : .unchanged
  }

  /// Lets the reading thread repeat decisions whose repeats are counted in the journal.
  private func publish(
    _ request: AuditWriter.Request, _ places: [AuditPlace], in vault: OpenVault, for actor: isolated VaultActor
  ) {
    let counter = vault.records.repeats.counter
    guard counter.isOpen else { return }
    for ((entry, place), offer) in zip(zip(request.entries, places), request.offers) where entry.isBatched {
      guard var offer else { continue }
      offer.decision.id = place.name
      actor.dependencies.tables.decisions.publish(offer, sequence: place.sequence, counter: counter)
    }
  }

  // MARK: repeats

  package static func settleRepeats(for actor: isolated VaultActor) -> BootInstant? {
    actor.dependencies.tables[AuditRecorder.self].settleRepeats(for: actor)
  }

  /// Takes counted repeats into the log. Returns when to call it again; nil once no repeats are counted.
  private func settleRepeats(for actor: isolated VaultActor) -> BootInstant? {
    guard let vault = actor.vault, vault.records.repeats.counter.isOpen else { return nil }
    let now = actor.dependencies.clock.boot()
    if !vault.records.repeats.counter.isEmpty {
      state.withLock { $0.settledAt = now }
      try? actor.commit(vault.audit.settled(.unchanged), to: vault)
    } else if now - state.withLock({ $0.settledAt }) >= Self.repeatIdle {
      endRepeats(for: actor)
      return nil
    }
    return now + Self.repeatIdle
  }

  package func locking(_ vault: OpenVault, for actor: isolated VaultActor) { endRepeats(for: actor) }

  /// Takes counted repeats into the log, and counts no more in the journal.
  func endRepeats(for actor: isolated VaultActor) {
    guard let vault = actor.vault, vault.records.repeats.counter.isOpen else { return }
    actor.dependencies.tables.decisions.withdrawAll()
    try? actor.commit(vault.audit.settled(.inLog), to: vault)
  }

  /// Takes in what an earlier process counted. If the disk refuses, the next entry brings it.
  package func opened(_ vault: OpenVault, for actor: isolated VaultActor) {
    guard (try? vault.records.recoverRepeats(boot: actor.dependencies.clock.bootID)) == true else { return }
    try? actor.commit(vault.audit.settled(.inLog), to: vault)
  }

  /// Ends repeating before the log is read: no entry that is read changes afterwards.
  func closeRepeats(_ vault: OpenVault, for actor: isolated VaultActor) {
    actor.dependencies.tables.decisions.withdrawAll()
    if !vault.records.repeats.counter.isEmpty { try? actor.commit(vault.audit.settled(.unchanged), to: vault) }
  }

  private func take(_ count: Int64, of ring: AuditRing, by clients: Set<String>, at now: BootInstant) -> Milliseconds? {
    state.withLock { $0.quota.take(count, of: ring, by: clients, at: now) }
  }
}

extension VaultActor {
  private var recorder: AuditRecorder { dependencies.tables[AuditRecorder.self] }

  /// Entries that a full disk did not take.
  package var missedEntries: [VaultChange] { recorder.missedEntries }

  /// Counts no more repeats in the journal, whose key is about to change.
  package func endRepeats() { recorder.endRepeats(for: self) }

  /// Reads from the log with all repeats in it. No entry that is read changes afterwards.
  package func readAudit<Result: Sendable>(
    _ body: @Sendable (OpenVault) throws(AgentFailure) -> Result
  ) throws(AgentFailure) -> Result {
    let vault = try unlocked()
    recorder.closeRepeats(vault, for: self)
    return try body(vault)
  }

  /// Records in the audit log which client opened or created the vault, before the agent answers. If that fails, locks
  /// the vault again; but a full disk keeps no person out of an existing one (`missedEntries`).
  package func noteOpening(_ event: AuditEntry.Event) throws(AgentFailure) {
    do throws(AgentFailure) {
      try note(dependencies.audited(event))
    } catch {
      if event == .agentUnlock, error.storeFailure == .full { return }
      lock()
      throw error
    }
  }

  /// Commits an entry about the vault itself. One that a full disk refuses is kept for a later commit.
  private func note(_ entry: VaultChange) throws(AgentFailure) {
    do throws(AgentFailure) {
      try commit { _ throws(AgentFailure) in ChangeSet([entry]).onlyIntoFreeRoom }
    } catch {
      if error.storeFailure == .full { recorder.missed(entry) }
      throw error
    }
  }

  /// Locks the vault; false if it was locked already. Locks also if the audit entry can't be written: a failing disk
  /// must not keep the vault open.
  package func lock(because reason: LockReason) -> Bool {
    guard isOpen else { return false }
    try? note(dependencies.audited(.agentLock, [.reason(reason.rawValue)]))
    lock()
    return true
  }
}
