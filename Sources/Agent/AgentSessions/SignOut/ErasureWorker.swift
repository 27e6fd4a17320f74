internal import AgentModel
package import AgentPorts
package import AgentRecords
package import AgentStore

/// Finishes erasures that the store could not finish in their own commit (docs/sign-out.md, Modes).
package actor ErasureWorker {
  private let clock: any AgentClock
  private let alarm: Alarm
  /// The cause that held up the last attempts, and how often in a row.
  private var heldUp: (by: ErasureHoldUp, times: Int)?

  package init(clock: any AgentClock, background: BackgroundWork) {
    self.clock = clock
    alarm = Alarm(clock: clock, background: background)
  }

  /// An attempt is planned after each commit that was held up. The earliest counts (`Alarm`): an attempt that waits for
  /// a reader delays none that waits for the store.
  package func retry(after holdUp: ErasureHoldUp, in vault: VaultActor) {
    alarm.set(clock.boot() + Self.pause(holdUp, afterRetries: 0)) { await self.lookAgain(in: vault) }
  }

  private func lookAgain(in vault: VaultActor) async -> BootInstant? {
    guard let holdUp = await vault.resumeErasures() else {
      heldUp = nil
      return nil
    }
    let times = heldUp.map { $0.by == holdUp ? $0.times + 1 : 1 } ?? 1
    heldUp = (holdUp, times)
    return clock.boot() + Self.pause(holdUp, afterRetries: times)
  }

  private static func pause(_ holdUp: ErasureHoldUp, afterRetries retries: Int) -> Milliseconds {
    // A reader ends in its own time, which may be hours. A store that failed may work again at once.
    let (shortest, longest): (Int64, Int64) =
      switch holdUp {
      case .reader: (30, 600)
      case .failure: (1, 30)
      }
    return .seconds(min(shortest << Int64(min(retries, 5)), longest))
  }
}
