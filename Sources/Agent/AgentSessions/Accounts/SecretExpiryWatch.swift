internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentRecords
internal import AgentStore

/// Tells before a secret ends, and that it has ended (docs/secrets.md, Expiry): for all accounts, also for those that no
/// program uses. `ExpiryReminder` decides.
package final class SecretExpiryWatch: Sendable {
  private let dependencies: AccountDependencies
  private let accounts: AccountDirectory
  private let alarm: Alarm

  /// The provider's time may be set meanwhile, so that a moment far away is looked at again before.
  private static let longestSleep = Milliseconds.seconds(86_400)

  package init(dependencies: AccountDependencies, accounts: AccountDirectory) {
    self.dependencies = dependencies
    self.accounts = accounts
    alarm = Alarm(clock: dependencies.environment.clock, background: dependencies.background)
  }

  /// Tells what is due, and plans the next look: after a start, an unlock and a new end, and when the time was set.
  package func look() async {
    if let next = await tellDue() { alarm.set(next) { await self.tellDue() } }
  }

  package func vaultWasLocked() { alarm.clear() }

  /// When the next reminder is due; nil without one.
  private func tellDue() async -> BootInstant? {
    let found = try? await dependencies.vault.read { vault throws(AgentFailure) in
      vault.directory.profiles.values.filter { $0.signInStatus == .signedIn && $0.secret?.expiresAt != nil }
        .sorted { $0.id < $1.id }
    }
    var next: BootInstant?
    let clock = dependencies.environment.clock
    for profile in found ?? [] {
      guard let end = profile.secret?.expiresAt else { continue }
      var told = profile.secret?.reminded
      let now = dependencies.time.calendarTime(of: profile.provider)
      if let due = ExpiryReminder.due(end, told: told, at: now), await tell(due, of: profile, left: end - now) {
        told = due
      }
      // The account itself tells that its secret has ended, or that time was set back before the end.
      let hasEnded = end <= now
      if hasEnded ? profile.health == .ok : profile.isStoredAsEnded {
        try? await accounts.account(profile.id).settle()
      }
      guard let moment = ExpiryReminder.next(end, told: told) ?? (hasEnded ? nil : end) else { continue }
      let at = clock.boot() + min(max(moment - now, Self.shortestPause), Self.longestSleep)
      next = next.map { min($0, at) } ?? at
    }
    return next
  }

  /// After a reminder that could not be stored.
  private static let shortestPause = Milliseconds.seconds(1)

  /// True once it is durable that the reminder was told, so that it is told once.
  private func tell(_ due: ExpiryReminder, of profile: AccountProfile, left: Milliseconds) async -> Bool {
    let isFirst = try? await dependencies.vault.commit { vault throws(AgentFailure) in
      try vault.journal.remind(due, of: profile)
    }
    guard let isFirst else { return false }
    if due != .end, isFirst, let end = profile.secret?.expiresAt {
      dependencies.events.publish(.accountExpiring(expiresAt: end, left: left), account: profile.id)
    }
    return true
  }
}
