internal import AgentModel
package import AgentPorts
package import AgentRecords
package import AgentStore

/// Revokes callers' grants, also on a disk that refuses the change: the grant serves no caller from then on, and the
/// change is tried again until the disk takes it. If the agent ends before that, the grant is back at the next start:
/// without the disk there is no place that outlives the agent, so the caller is told that the revocation is not stored.
package final class CallerGrantRevocations: Sendable {
  private static let pause = Milliseconds.seconds(5)

  private let vault: VaultActor
  private let table: CallerGrantTable
  private let clock: any AgentClock
  private let alarm: Alarm

  package init(vault: VaultActor, table: CallerGrantTable, clock: any AgentClock, background: BackgroundWork) {
    self.vault = vault
    self.table = table
    self.clock = clock
    alarm = Alarm(clock: clock, background: background)
  }

  /// Ends a grant and all that it made, durable when it returns. `caller` limits it to the grants that it made. Throws
  /// `.grantStillStored` if the grant ends with the agent only.
  package func revoke(_ name: String, by caller: EffectiveGrant?) async throws(AgentFailure) {
    do throws(AgentFailure) {
      try await vault.commit { vault throws(AgentFailure) in try vault.callerGrants.revoke(name, by: caller) }
    } catch {
      guard let failure = error.storeFailure else { throw error }
      table.end(name)
      alarm.set(clock.boot() + Self.pause) { [self] in await retry() }
      throw .grantStillStored(failure)
    }
  }

  /// Tries again what the disk refused. The next moment to try; nil if nothing is left.
  private func retry() async -> BootInstant? {
    for name in table.ending {
      _ = try? await vault.commitIfOpen { vault throws(AgentFailure) in try vault.callerGrants.revoke(name, by: nil) }
    }
    return table.ending.isEmpty ? nil : clock.boot() + Self.pause
  }
}
