import AgentModel
import AgentPorts
internal import AgentRecords
internal import AgentSessions
import AgentSimulation
import Synchronization
import Testing

/// Signs of life of a provider (docs/tokens.md, Reconnect).
@Suite struct ExchangeGateTests {
  private static let issuer = "https://idp.test"

  /// The issuer answers another exchange while a probe waits for its answer.
  @Test func failedProbe_silencesNoIssuerThatAnsweredMeanwhile() {
    let (clock, background, executor) = (VirtualClock(), BackgroundWork(), SeededExecutor(seed: 1))
    let gate = ExchangeGate(clock: clock, background: background)
    let result = Mutex<Bool?>(nil)
    Task(executorPreference: executor) { await background.run() }
    Task(executorPreference: executor) {
      let answers = await gate.answers(Self.issuer) {
        await clock.sleep(for: .seconds(30))
        return false
      }
      result.withLock { $0 = answers }
    }
    executor.runUntilIdle()
    #expect(gate.load.silentIssuers == 1, "silent until it answers anything")
    gate.answered(Self.issuer)
    while clock.advanceToNext(limit: clock.boot() + .seconds(60)) { executor.runUntilIdle() }
    #expect(result.withLock { $0 } == true)
    #expect(gate.load.silentIssuers == 0)
    background.stop()
    executor.runUntilIdle()
  }
}
