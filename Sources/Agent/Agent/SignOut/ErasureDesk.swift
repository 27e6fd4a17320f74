internal import AgentModel
internal import AgentPorts
internal import AgentProtocol

/// Finishes what an open reader of the store prevented: when it is gone, at the latest at the next start.
actor ErasureDesk {
  private let around: AccountSurroundings
  private var isWaiting = false
  private var pause = ErasureDesk.shortest

  private static let shortest = Milliseconds.seconds(30)
  private static let longest = Milliseconds.seconds(600)

  init(around: AccountSurroundings) { self.around = around }

  /// After a start, an unlocking, and a sign-out that left something.
  func resume() async {
    guard !isWaiting else { return }
    for id in (try? await around.registry.finishErasures()) ?? [] {
      around.events.publish(AccountErasedEvent(), account: id)
    }
    guard (try? await around.registry.hasErasures()) == true, !isWaiting else {
      pause = Self.shortest
      return
    }
    isWaiting = true
    let clock = around.environment.clock
    let due = clock.boot() + pause
    pause = min(pause * 2, Self.longest)
    around.background.startTimer {
      await clock.sleep(until: due)
      guard !Task.isCancelled else { return }
      await self.lookAgain()
    }
  }

  private func lookAgain() async {
    isWaiting = false
    await resume()
  }
}
