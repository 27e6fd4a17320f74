import AgentCore
import AgentModel
import AgentPorts
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
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

  @Test func workInLine_keepsTheBoundOfItsIssuerAndEndsWithTheGate() {
    let (clock, background, executor) = (VirtualClock(), BackgroundWork(), SeededExecutor(seed: 1))
    let queue = ExchangeQueue(mostForAnIssuer: 2, mostInAll: 8)
    let gate = ExchangeGate(clock: clock, background: background, queue: queue)
    let running = Mutex(0)
    let refused = Mutex(0)
    let passed = Mutex(false)
    Task(executorPreference: executor) { await background.run() }
    for _ in 1...5 {
      background.start {
        do throws(AgentFailure) {
          try await gate.pass(Self.issuer) { () async throws(AgentFailure) -> Void in
            running.withLock { $0 += 1 }
            await clock.sleep(for: .seconds(30))
          }
        } catch {
          if case .shuttingDown = error { refused.withLock { $0 += 1 } }
        }
      }
    }
    executor.runUntilIdle()
    #expect(running.withLock { $0 } == 2)
    background.start {
      _ = try? await gate.pass("https://other.test") { () async throws(AgentFailure) -> Void in
        passed.withLock { $0 = true }
      }
    }
    executor.runUntilIdle()
    #expect(passed.withLock { $0 }, "another issuer is not delayed")
    gate.close()
    executor.runUntilIdle()
    #expect(refused.withLock { $0 } == 3)
    while clock.advanceToNext(limit: clock.boot() + .seconds(60)) { executor.runUntilIdle() }
    #expect(running.withLock { $0 } == 2)
    background.stop()
    executor.runUntilIdle()
  }
}
