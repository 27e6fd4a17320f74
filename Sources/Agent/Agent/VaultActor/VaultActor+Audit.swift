internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentVault

/// The audit log (docs/storage.md, Audit): quotas, decisions, and the repeats that are counted between two commits.
extension VaultActor {
  // MARK: security events

  /// Prepares the audit entries among the changes. Decisions that an event concerns are repeated no more before it is
  /// written, so that no repeat stands after it.
  func audited(_ changes: [VaultChange], in vault: OpenVault) throws(AgentFailure) -> [VaultChange] {
    var audited = try charged(changes)
    let entries = changes.compactMap(\.auditEntry)
    for entry in entries where entry.ring == .security {
      if let account = entry.account.flatMap({ AccountID($0) }) {
        dependencies.tables.decisions.withdraw(account)
      } else {
        dependencies.tables.decisions.withdrawAll()
      }
    }
    let takesRepeats = !entries.isEmpty || changes.repeatCounting != nil
    if takesRepeats, vault.records.lacksRepeats { audited.append(vault.audited(.auditGap)) }
    return audited
  }

  /// Takes the security events among the changes from their client's quota. Beyond it a change that can wait is
  /// refused; what can't wait is done, and counted in an equal entry among the newest.
  private func charged(_ changes: [VaultChange]) throws(AgentFailure) -> [VaultChange] {
    var charged = changes
    for (index, change) in changes.enumerated() {
      guard case .audit(var entry) = change, entry.ring == .security,
        let wait = auditQuota.take(1, of: .security, by: entry.clients, at: dependencies.clock.boot())
      else { continue }
      if entry.isRefusable { throw .overloaded(Self.quota, retryAfter: wait) }
      entry.coalesces = true
      charged[index] = .audit(entry)
    }
    return charged
  }

  private static let quota = "new audit entries of one client in an hour"

  // MARK: decisions

  /// Records the decisions of several requests. Returns for each request the ids under which the log has them, nil if
  /// they are not true any more, and a failure if its client is over its quota.
  func record(_ requests: [AuditWriter.Request]) throws(AgentFailure) -> [Result<[String]?, AgentFailure>] {
    let vault = try unlocked()
    var admitted: [AuditWriter.Request] = []
    let outcomes = requests.map { request -> RecordOutcome in
      guard request.areTrue(vault) else { return .untrue }
      if let places = counted(request, in: vault) { return .counted(places) }
      if let wait = charged(request, in: vault) { return .refused(.overloaded(Self.quota, retryAfter: wait)) }
      admitted.append(request)
      return .admitted(request.entries.count)
    }
    var places: ArraySlice<AuditPlace> = []
    if !admitted.isEmpty {
      let entries = admitted.flatMap(\.entries)
      let new = entries.count { vault.audit.place(of: $0) == nil }
      dependencies.tables.decisions.withdraw(before: vault.records.audit.firstOpenDecision(afterAdding: new))
      places = try commit(vault.audit.append(entries, counting: counting(entries, in: vault)), to: vault)[...]
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
      publish(request, found, in: vault)
      return .success(found.map(\.name))
    }
  }

  private enum RecordOutcome {
    case untrue
    case refused(AgentFailure)
    case counted([AuditPlace])
    case admitted(Int)
  }

  /// Takes a request's new entries from its client's quota; nil, or the time after which they fit.
  private func charged(_ request: AuditWriter.Request, in vault: OpenVault) -> Milliseconds? {
    let new = request.entries.count { vault.audit.place(of: $0) == nil }
    let clients = request.entries.first?.clients ?? []
    return auditQuota.take(Int64(new), of: .decisions, by: clients, at: dependencies.clock.boot())
  }

  /// Counts a request without a commit: all its entries are repeats, and the policy permits it. Nil if that can't be.
  private func counted(_ request: AuditWriter.Request, in vault: OpenVault) -> [AuditPlace]? {
    let repeats = vault.records.repeats
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
  private func counting(_ entries: [AuditEntry], in vault: OpenVault) -> RepeatCounting {
    let isFrequent = entries.contains { entry in
      guard entry.isBatched, let lastAt = vault.audit.place(of: entry)?.lastAt else { return false }
      return entry.at - lastAt < Self.repeatIdle
    }
    return isFrequent ? .inJournal(boot: dependencies.clock.bootID) : .unchanged
  }

  /// Lets the reading thread repeat decisions whose repeats are counted in the journal.
  private func publish(_ request: AuditWriter.Request, _ places: [AuditPlace], in vault: OpenVault) {
    let counter = vault.records.repeats
    guard counter.isOpen else { return }
    for ((entry, place), offer) in zip(zip(request.entries, places), request.offers) where entry.isBatched {
      guard var offer else { continue }
      offer.decision.id = place.name
      dependencies.tables.decisions.publish(offer, sequence: place.sequence, counter: counter)
    }
  }

  // MARK: repeats

  /// From the first repeat in the journal to the commit that takes it into the log.
  static let repeatPause = Milliseconds(100)
  /// After so long without a repeat each takes a commit again.
  static let repeatIdle = Milliseconds.seconds(2)

  /// Takes counted repeats into the log. Returns when to call it again; nil once no repeats are counted.
  func settleRepeats() -> BootInstant? {
    guard let vault, vault.records.repeats.isOpen else { return nil }
    let now = dependencies.clock.boot()
    if !vault.records.repeats.isEmpty {
      settledRepeatsAt = now
      try? commit(vault.audit.settled(.unchanged), to: vault)
    } else if now - settledRepeatsAt >= Self.repeatIdle {
      endRepeats()
      return nil
    }
    return now + Self.repeatIdle
  }

  /// Takes counted repeats into the log, and counts no more in the journal.
  func endRepeats() {
    guard let vault, vault.records.repeats.isOpen else { return }
    dependencies.tables.decisions.withdrawAll()
    try? commit(vault.audit.settled(.inLog), to: vault)
  }

  /// Takes in what an earlier process counted. If the disk refuses, the next entry brings it.
  func recoverRepeats(_ vault: OpenVault) {
    guard (try? vault.records.recoverRepeats(boot: dependencies.clock.bootID)) == true else { return }
    try? commit(vault.audit.settled(.inLog), to: vault)
  }

  /// Reads from the log with all repeats in it. No entry that is read changes afterwards.
  package func readAudit<Result: Sendable>(
    _ body: @Sendable (OpenVault) throws(AgentFailure) -> Result
  ) throws(AgentFailure) -> Result {
    let vault = try unlocked()
    dependencies.tables.decisions.withdrawAll()
    if !vault.records.repeats.isEmpty { try? commit(vault.audit.settled(.unchanged), to: vault) }
    return try body(vault)
  }
}
