internal import AgentModel
internal import AgentPorts
internal import AgentStore

/// Finishes an erasure that an open reader of the store prevented: after that reader closes, or at the next start.
package actor ErasureWorker {
  private let dependencies: AccountDependencies
  private let alarm: Alarm
  private var isWaiting = false
  private var pause = ErasureWorker.shortest

  private static let shortest = Milliseconds.seconds(30)
  private static let longest = Milliseconds.seconds(600)

  package init(dependencies: AccountDependencies) {
    self.dependencies = dependencies
    alarm = Alarm(clock: dependencies.environment.clock, background: dependencies.background)
  }

  /// Tries outstanding erasures after a start, an unlock, and a sign-out with an unfinished erasure.
  package func resume() async {
    guard !isWaiting else { return }
    for id in (try? await dependencies.vault.commit { vault throws(AgentFailure) in try vault.erasures.finish() }) ?? []
    {
      dependencies.events.publish(.accountErased, account: id)
    }
    guard
      (try? await dependencies.vault.read { vault throws(AgentFailure) in try vault.erasures.arePending() }) == true,
      !isWaiting
    else {
      pause = Self.shortest
      return
    }
    isWaiting = true
    let due = dependencies.environment.clock.boot() + pause
    pause = min(pause * 2, Self.longest)
    alarm.set(due) {
      await self.lookAgain()
      return nil
    }
  }

  private func lookAgain() async {
    isWaiting = false
    await resume()
  }
}
