internal import AgentRecords
import Synchronization
import Testing

@Suite struct BackgroundWorkTests {
  @Test func workWithoutATask_isWaitedFor() async {
    let background = BackgroundWork()
    let hasEnded = Atomic(false)
    #expect(background.beginWithoutTask() && background.beginWithoutTask())
    background.endWithoutTask()
    async let ran: Void = {
      await background.run()
      let workHasEnded = hasEnded.load(ordering: .sequentiallyConsistent)
      #expect(workHasEnded)
    }()
    background.stop()
    for _ in 0..<100 { await Task.yield() }
    hasEnded.store(true, ordering: .sequentiallyConsistent)
    background.endWithoutTask()
    await ran
    #expect(!background.beginWithoutTask())
  }

  @Test func withoutWork_itEndsAtOnce() async {
    let background = BackgroundWork()
    background.stop()
    await background.run()
    #expect(!background.beginWithoutTask())
    #expect(!background.start {})
  }
}
