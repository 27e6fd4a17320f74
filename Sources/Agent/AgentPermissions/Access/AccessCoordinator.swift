package import AgentCore
package import AgentModel
package import AgentPorts
package import AgentRecords
package import AgentStore
internal import AgentVault
internal import JSONRPC
internal import Synchronization

/// Takes the requests of programs for more than their grants have, and a person's verdicts about them (docs/approvals.md).
package final class AccessCoordinator: Sendable {
  package struct Answer: Sendable {
    package enum Status: Sendable { case waiting, allowed, denied }
    package var request: String
    package var status: Status
  }

  private let requests = Mutex(AccessRequests())
  private let vault: VaultActor
  private let grants: CallerGrantTable
  private let events: any EventPublishing
  private let environment: (clock: any AgentClock, entropy: any Entropy)
  private let background: BackgroundWork

  private var clock: any AgentClock { environment.clock }

  package init(
    vault: VaultActor, grants: CallerGrantTable, events: any EventPublishing, clock: any AgentClock,
    entropy: any Entropy, background: BackgroundWork
  ) {
    self.vault = vault
    self.grants = grants
    self.events = events
    environment = (clock, entropy)
    self.background = background
  }

  /// The requests that wait, oldest first.
  package var all: [AccessRequests.Entry] { requests.withLock { $0.entries.filter { !$0.isDeciding } } }

  /// A program's request. It is in the audit log before a person sees it.
  package func ask(
    _ wanted: PermissionAddition, because reason: String, for caller: EffectiveGrant
  ) async throws(AgentFailure) -> Answer {
    guard let name = caller.grants.last, let client = grants.client(of: name) else { throw .caller(.grantRefused) }
    let addition = try await located(wanted, for: name, caller.permission)
    let id = "acr_" + Base32.encode(environment.entropy.bytes(10))
    // A grant that names no origins covers each one, and still reaches those of its providers alone.
    if caller.permission.covers(addition),
      try await vault.read({ vault throws(AgentFailure) in
        try vault.callerGrants.reaches(addition.origins, for: name)
      })
    {
      return Answer(request: id, status: .allowed)
    }
    let entry = AccessRequests.Entry(
      id: id, grant: name, client: client, addition: addition, reason: reason, requestedAt: clock.wall())
    switch requests.withLock({ $0.ask(entry, at: clock.boot()) }) {
    case .waits(let same, isNew: false): return Answer(request: same, status: .waiting)
    case .refused(let same): return Answer(request: same, status: .denied)
    case .full: throw .overloaded("requests of one grant for access")
    case .waits(_, isNew: true): break
    }
    do throws(AgentFailure) {
      try await vault.commit { vault throws(AgentFailure) in
        ChangeSet([vault.dependencies.audited(.accessRequest, entry.facts)]).onlyIntoFreeRoom
      }
    } catch {
      requests.withLock { $0.remove(id) }
      throw error
    }
    events.publish(.accessRequested(entry))
    // The grant may have ended while the log was written.
    grantsMayHaveEnded()
    return Answer(request: id, status: .waiting)
  }

  /// Methods of requests are for servers: where the program names none, for those that its grant reaches.
  private func located(
    _ wanted: PermissionAddition, for name: String, _ permission: Permission
  ) async throws(AgentFailure) -> PermissionAddition {
    guard wanted.origins.isEmpty, !wanted.requestMethods.isEmpty else { return wanted }
    let allowed = try await vault.read { vault throws(AgentFailure) in
      try vault.callerGrants.allowedOrigins(for: name)
    }
    var addition = wanted
    addition.origins = allowed.filter { permission.covers(origin: $0) }
    guard (1...PermissionAddition.mostOrigins).contains(addition.origins.count) else {
      throw .invalidParameter("/origins", expected: "the origins that it wants to send these requests to")
    }
    return addition
  }

  /// A person's verdict. `lifetime`: nil for as long as the grant. Returns until when it is allowed; nil if it is not, or has
  /// no end. Runs to its end, also if the decider goes away.
  package func decide(
    _ id: String, allows: Bool, for lifetime: Milliseconds?
  ) async throws(AgentFailure) -> Timestamp? {
    guard let entry = requests.withLock({ $0.decide(id) }) else { throw .notFound(.access) }
    do throws(AgentFailure) {
      return try await background.finish { [self] () async throws(AgentFailure) in
        let end = try await store(entry, allows: allows, for: lifetime)
        guard requests.withLock({ $0.decided(id, isAllowed: allows, at: clock.boot()) }) else {
          throw .notFound(.access)
        }
        events.publish(.accessDecided(entry, end, decidedBy: Caller.client))
        guard case .allowed(let until) = end else { return nil }
        return until
      }
    } catch {
      requests.withLock { $0.undecided(id) }
      throw error
    }
  }

  private func store(
    _ entry: AccessRequests.Entry, allows: Bool, for lifetime: Milliseconds?
  ) async throws(AgentFailure) -> AccessEnd {
    guard allows else {
      try await vault.commit { vault throws(AgentFailure) in
        ChangeSet([vault.dependencies.audited(.accessDecide, outcome: "deny", entry.facts)])
      }
      return .denied
    }
    let added = try await vault.commit { vault throws(AgentFailure) in
      try vault.callerGrants.add(entry.addition, to: entry.grant, for: lifetime, audited: entry.facts)
    }
    guard let added else { throw .notFound(.access) }
    return .allowed(until: added.expiresAt)
  }

  /// Called whenever a grant may have ended.
  package func grantsMayHaveEnded() {
    let known = requests.withLock { $0.grants }
    guard !known.isEmpty else { return }
    let ended = grants.ended(among: known)
    guard !ended.isEmpty else { return }
    for entry in requests.withLock({ $0.grantsEnded(ended) }) {
      events.publish(.accessDecided(entry, .grantEnded, decidedBy: nil))
    }
  }
}

extension AccessRequests.Entry {
  /// What the audit log says of it: no words of the program.
  fileprivate var facts: [AuditEntry.Fact] {
    [.grant(grant), .grantee(client)] + addition.origins.sorted().prefix(1).map { .origin($0) }
      + addition.methods.prefix(1).map { .method($0) }
      + addition.capabilities.sorted().prefix(1).map { .capability($0) }
  }
}
