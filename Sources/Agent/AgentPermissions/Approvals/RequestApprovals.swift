package import AgentCore
package import AgentModel
package import AgentPorts
package import AgentRecords
package import AgentStore
internal import AgentVault
internal import JSONRPC
internal import Synchronization

/// Has requests wait for a person, and tells those that may decide (docs/approvals.md). `Approvals` decides what follows.
///
/// A caller that waits holds nothing but its own task.
package final class RequestApprovals: Sendable {
  /// A caller that waits with a request.
  package struct Wait: Sendable {
    package let approval: String
    /// What the verdict is about: the first caller's, also for one that joined when the policy wanted more.
    package let capabilities: [String]
    fileprivate let account: AccountID
    fileprivate let asker: ApprovalMachine.Asker
  }

  /// What is known of a caller: it may end before the caller waits.
  private struct Asker {
    var end: ApprovalMachine.End?
    var caller: CheckedContinuation<ApprovalMachine.End, Never>?
  }
  private struct State {
    var approvals = Approvals()
    var askers: [ApprovalMachine.Asker: Asker] = [:]
    var last: ApprovalMachine.Asker = 0
    var isShuttingDown = false
  }
  private let state = Mutex(State())
  private let vault: VaultActor
  private let grants: CallerGrantTable
  private let audit: AuditWriter
  private let events: any EventPublishing
  private let environment: (clock: any AgentClock, entropy: any Entropy)
  private let background: BackgroundWork
  private let alarm: Alarm

  private var clock: any AgentClock { environment.clock }

  package init(
    vault: VaultActor, grants: CallerGrantTable, audit: AuditWriter, events: any EventPublishing,
    clock: any AgentClock, entropy: any Entropy, background: BackgroundWork
  ) {
    self.vault = vault
    self.grants = grants
    self.audit = audit
    self.events = events
    environment = (clock, entropy)
    self.background = background
    alarm = Alarm(clock: clock, background: background)
  }

  // MARK: questions

  /// The requests that want a verdict, oldest first.
  package var all: [Approvals.Entry] { state.withLock { $0.approvals.waiting } }

  package func isAllowed(_ capability: String, of account: AccountID, for grant: String) -> Bool {
    state.withLock { $0.approvals.isAllowed(capability, of: account, for: grant) }
  }

  package func waiting(_ id: String) throws(AgentFailure) -> Approvals.Entry {
    guard let entry = all.first(where: { $0.id == id }) else { throw .notFound(.approval) }
    return entry
  }

  // MARK: callers

  /// The request waits from now on. Nil if a person allowed it until the grant ends.
  package func ask(_ wish: Approvals.Wish) async throws(AgentFailure) -> Wait? {
    let asker = try state.withLock { (state) throws(AgentFailure) in
      if state.isShuttingDown { throw .shuttingDown }
      state.last += 1
      state.askers[state.last] = Asker()
      return state.last
    }
    do throws(AgentFailure) {
      let first = state.withLock { asks($0.approvals.asks(wish, by: asker, at: clock.boot()), &$0) }
      guard first.answer == .isNew else { return try wait(first, asker, wish) }
      guard let limits = grants.limits(of: wish.request.grant) else { throw .caller(.notCovered) }
      try await record(.approvalRequested, outcome: "ok", wish)
      let id = "apr_" + Base32.encode(environment.entropy.bytes(10))
      let now = clock.boot()
      let answer = state.withLock { state -> (answer: Approvals.Answer, joined: [String])? in
        if state.isShuttingDown { return nil }
        let answer = state.approvals.begin(
          wish, id: id, by: asker, at: now, wall: clock.wall(), grantEndsAt: limits.until)
        if answer == .isNew, let entry = state.approvals[id] {
          events.publish(.approvalRequested(entry), account: wish.request.account)
        }
        return asks(answer, &state)
      }
      guard let answer else { throw .shuttingDown }
      guard answer.answer == .isNew else { return try wait(answer, asker, wish) }
      watch()
      // The grant may have ended while the log was written.
      grantsMayHaveEnded()
      return Wait(approval: id, capabilities: wish.capabilities, account: wish.request.account, asker: asker)
    } catch {
      state.withLock { $0.askers[asker] = nil }
      throw error
    }
  }

  /// With the capabilities of the request that the caller joins.
  private func asks(_ answer: Approvals.Answer, _ state: inout State) -> (answer: Approvals.Answer, joined: [String]) {
    guard case .joins(let id) = answer else { return (answer, []) }
    return (answer, state.approvals[id]?.wish.capabilities ?? [])
  }

  private func wait(
    _ found: (answer: Approvals.Answer, joined: [String]), _ asker: ApprovalMachine.Asker, _ wish: Approvals.Wish
  ) throws(AgentFailure) -> Wait? {
    switch found.answer {
    case .joins(let id):
      return Wait(approval: id, capabilities: found.joined, account: wish.request.account, asker: asker)
    case .allowed, .isNew:
      state.withLock { $0.askers[asker] = nil }
      return nil
    case .refused(let left): throw .unapproved(.declined(left: left), wish.request.account)
    case .full: throw .overloaded("requests that wait for a person")
    }
  }

  /// Returns when a person approved the request. A caller that goes away withdraws it.
  package func verdict(of wait: Wait) async throws(AgentFailure) {
    let end = await withTaskCancellationHandler {
      await withCheckedContinuation { caller in
        let end = state.withLock { state -> ApprovalMachine.End? in
          guard let asker = state.askers[wait.asker] else { return .withdrawn }
          if let end = asker.end { return end }
          state.askers[wait.asker]?.caller = caller
          return nil
        }
        if let end { caller.resume(returning: end) }
      }
    } onCancel: {
      wake(wait.asker)
    }
    state.withLock { $0.askers[wait.asker] = nil }
    if end == .withdrawn { perform { approvals, now in approvals.left(wait.asker, at: now) } }
    switch end {
    case .decided(.deny, _): throw .unapproved(.declined(left: Approvals.refusalPause), wait.account)
    case .decided: return
    case .timedOut: throw .unapproved(.notApproved, wait.account)
    case .withdrawn: throw .cancelled
    case .grantEnded: throw .caller(.notCovered)
    case .locked: throw .locked
    case .shuttingDown: throw .shuttingDown
    }
  }

  /// Only wakes the caller: the code that cancels it may hold locks, and the withdrawal publishes events.
  private func wake(_ asker: ApprovalMachine.Asker) {
    let caller = state.withLock { state -> CheckedContinuation<ApprovalMachine.End, Never>? in
      guard state.askers[asker]?.end == nil else { return nil }
      state.askers[asker]?.end = .withdrawn
      defer { state.askers[asker]?.caller = nil }
      return state.askers[asker]?.caller
    }
    caller?.resume(returning: .withdrawn)
  }

  // MARK: verdicts

  /// A verdict, which is in the audit log before it counts. Runs to its end, also if the decider goes away.
  ///
  /// - Throws: `.notFound(.approval)` if another verdict, or the end of the wait, came first.
  package func decide(
    _ id: String, _ verdict: ApprovalMachine.Verdict, by basis: ApprovalMachine.Basis
  ) async throws(AgentFailure) {
    let entry = state.withLock { state -> Approvals.Entry? in
      guard case .record(let entry, _, _)? = state.approvals.decided(id, verdict, by: basis)?.first else { return nil }
      return entry
    }
    guard let entry else { throw .notFound(.approval) }
    do throws(AgentFailure) {
      try await background.finish { [self] () async throws(AgentFailure) in
        let request = entry.wish.request
        let facts = entry.wish.facts + [.mode(basis.rawValue)]
        try await vault.commit { vault throws(AgentFailure) in
          let entries = entry.wish.capabilities.enumerated().map { index, capability in
            let given = verdict == .session && index > 0 ? ApprovalMachine.Verdict.once : verdict
            return vault.dependencies.audited(
              .approvalDecide, outcome: given.rawValue, account: request.account, [.capability(capability)] + facts)
          }
          return ChangeSet(entries, of: request.account)
        }
        perform(by: basis == .call ? Caller.client : nil) { approvals, now in approvals.recorded(id, at: now) }
      }
    } catch {
      perform { approvals, now in approvals.notRecorded(id, at: now) }
      watch()
      throw error
    }
  }

  // MARK: ends

  /// Called whenever a grant may have ended.
  package func grantsMayHaveEnded() {
    let known = state.withLock { $0.approvals.grants }
    guard !known.isEmpty else { return }
    let ended = grants.ended(among: known)
    if !ended.isEmpty { perform { approvals, now in approvals.grantsEnded(ended, at: now) } }
  }

  package func vaultWasLocked() { perform { approvals, now in approvals.locked(at: now) } }

  package func shutDown() {
    state.withLock { $0.isShuttingDown = true }
    perform { approvals, now in approvals.shutDown(at: now) }
  }

  private func watch() {
    guard let next = state.withLock({ $0.approvals.nextMoment }) else { return }
    alarm.set(next) { [self] in
      perform { approvals, now in approvals.passed(to: now) }
      return state.withLock { $0.approvals.nextMoment }
    }
  }

  // MARK: effects

  /// Changes the state and performs what follows, in one step: no event comes before an earlier one.
  private func perform(
    by client: String? = nil, _ change: (inout Approvals, BootInstant) -> [Approvals.Effect]
  ) {
    let now = clock.boot()
    typealias Woken = (caller: CheckedContinuation<ApprovalMachine.End, Never>, end: ApprovalMachine.End)
    let (woken, unheard) = state.withLock { state -> ([Woken], [(Approvals.Wish, String)]) in
      var (woken, unheard): ([Woken], [(Approvals.Wish, String)]) = ([], [])
      for effect in change(&state.approvals, now) {
        switch effect {
        case .record: break
        case .answer(let asker, let end):
          guard let known = state.askers[asker] else { continue }
          if let caller = known.caller { woken.append((caller, end)) }
          state.askers[asker] = Asker(end: end)
        case .tell(let entry, let end):
          events.publish(.approvalDecided(entry, end, decidedBy: client), account: entry.wish.request.account)
          if let outcome = end.auditOutcome { unheard.append((entry.wish, outcome)) }
        }
      }
      return (woken, unheard)
    }
    // Without the lock: who cancels a caller holds that of its task, and waits for this one (`wake`).
    for (caller, end) in woken { caller.resume(returning: end) }
    for (wish, outcome) in unheard {
      // A refusal that can't be written is a refusal all the same.
      background.start { [self] in try? await record(.approvalDecided, outcome: outcome, wish) }
    }
  }

  private func record(_ event: AuditEntry.Event, outcome: String, _ wish: Approvals.Wish) async throws(AgentFailure) {
    let entry = AuditEntry(
      at: clock.wall(), event: event, outcome: outcome, account: wish.request.account, client: Caller.client,
      facts: [.capability(wish.capabilities[0])] + wish.facts)
    _ = try await audit.record([entry], offering: [nil]) { _ in true }
  }
}

extension Approvals.Wish {
  /// Without path and query, which hold data.
  fileprivate var facts: [AuditEntry.Fact] {
    [.origin(origin), .method(request.method), .grant(request.grant), .grantee(client)]
  }
}

extension ApprovalMachine.End {
  /// Of the entry in the audit log; nil where a verdict has its own, or the log is closed.
  fileprivate var auditOutcome: String? {
    switch self {
    case .decided, .locked, .shuttingDown: nil
    case .timedOut: "notApproved"
    case .withdrawn: "requestCancelled"
    case .grantEnded: "notPermitted"
    }
  }
}
