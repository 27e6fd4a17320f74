import AgentModel
internal import AgentRecords
import Synchronization
import Testing

import AgentStore
import AgentServing
import AgentServing

@Suite struct BackgroundWorkTests {
  final class Count: Sendable {
    private let value = Mutex(0)
    var now: Int { value.withLock { $0 } }
    func add() { value.withLock { $0 += 1 } }
  }

  @Test func startedWork_endsBeforeRunReturns() async {
    let work = BackgroundWork()
    let count = Count()
    for _ in 0..<100 {
      work.start {
        await Task.yield()
        count.add()
      }
    }
    work.stop()
    await work.run()
    #expect(count.now == 100)
  }

  @Test func workAfterTheEnd_isRefused() async throws {
    let work = BackgroundWork()
    work.stop()
    #expect(!work.start { Issue.record("started after the end") })
    do throws(AgentFailure) {
      _ = try await work.finish { () async throws(AgentFailure) in Issue.record("started after the end") }
      Issue.record("finished after the end")
    } catch {
      #expect(error.kind == .shuttingDown)
    }
    #expect(await work.race { 1 } == nil)
    await work.run()
  }

  @Test func timers_areCancelledAfterOtherWorkHasEnded() async {
    let work = BackgroundWork()
    let cancelled = Count()
    work.startTimer {
      while !Task.isCancelled { await Task.yield() }
      cancelled.add()
    }
    work.start {
      await Task.yield()
      work.stop()
    }
    await work.run()
    #expect(cancelled.now == 1)
  }

  @Test func cancelledCaller_doesNotCancelTheWork() async {
    let work = BackgroundWork()
    let done = Count()
    async let running: Void = work.run()
    let caller = Task {
      try? await work.finish { () async throws(AgentFailure) in
        for _ in 0..<50 { await Task.yield() }
        if !Task.isCancelled { done.add() }
      }
    }
    caller.cancel()
    await caller.value
    work.stop()
    await running
    #expect(done.now == 1)
  }
}
