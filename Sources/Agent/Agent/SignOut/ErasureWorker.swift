internal import AgentModel
package import AgentPorts
package import AgentStore

/// Finishes erasures that the store could not finish in their own commit (docs/sign-out.md, Modes).
package actor ErasureWorker {
  private let vault: VaultActor
  private let clock: any AgentClock
  private let alarm: Alarm
  private var isWaiting = false
  private var retries = 0

  package init(vault: VaultActor, clock: any AgentClock, background: BackgroundWork) {
    self.vault = vault
    self.clock = clock
    alarm = Alarm(clock: clock, background: background)
  }

  package func retry(after holdUp: ErasureHoldUp) {
    guard !isWaiting else { return }
    isWaiting = true
    alarm.set(nextAttempt(after: holdUp)) { await self.lookAgain() }
  }

  private func lookAgain() async -> BootInstant? {
    if let holdUp = await vault.resumeErasures() { return nextAttempt(after: holdUp) }
    isWaiting = false
    retries = 0
    return nil
  }

  private func nextAttempt(after holdUp: ErasureHoldUp) -> BootInstant {
    defer { retries += 1 }
    // A reader ends in its own time, which may be hours. A store that failed may work again at once.
    let (shortest, longest): (Int64, Int64) =
      switch holdUp {
      case .reader: (30, 600)
      case .failure: (1, 30)
      }
    return clock.boot() + .seconds(min(shortest << Int64(min(retries, 5)), longest))
  }
}
