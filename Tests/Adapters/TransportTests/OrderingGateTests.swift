import AgentServing
import AgentServing
import Synchronization
import Testing

@Suite struct OrderingGateTests {
  final class Diary: Sendable {
    private let entries = Mutex<[String]>([])
    var all: [String] { entries.withLock { $0 } }
    func write(_ entry: String) { entries.withLock { $0.append(entry) } }
  }

  @Test func requestsAfterABarrier_waitForItsAnswer() {
    let (gate, diary) = (OrderingGate(), Diary())
    gate.submit(isBarrier: false) { diary.write("a") }
    gate.submit(isBarrier: true) { diary.write("barrier") }
    gate.submit(isBarrier: false) { diary.write("b") }
    gate.submit(isBarrier: false) { diary.write("c") }
    #expect(diary.all == ["a", "barrier"] && gate.isHeld)
    gate.release()
    #expect(diary.all == ["a", "barrier", "b", "c"] && !gate.isHeld)
  }

  @Test func secondBarrier_holdsLaterRequests() {
    let (gate, diary) = (OrderingGate(), Diary())
    gate.submit(isBarrier: true) { diary.write("1") }
    gate.submit(isBarrier: false) { diary.write("2") }
    gate.submit(isBarrier: true) { diary.write("3") }
    gate.submit(isBarrier: false) { diary.write("4") }
    gate.release()
    #expect(diary.all == ["1", "2", "3"] && gate.isHeld)
    gate.release()
    #expect(diary.all == ["1", "2", "3", "4"] && !gate.isHeld)
  }

  @Test func lateRequest_doesNotOvertakeWaitingOnes() {
    let (gate, diary) = (OrderingGate(), Diary())
    gate.submit(isBarrier: true) {}
    // A line that is read while the waiting lines run.
    gate.submit(isBarrier: false) {
      gate.submit(isBarrier: false) { diary.write("late") }
      diary.write("first")
    }
    gate.submit(isBarrier: false) { diary.write("second") }
    gate.release()
    #expect(diary.all == ["first", "second", "late"])
  }

  @Test func barrierThatEndsAtOnce_letsTheRestPass() {
    let (gate, diary) = (OrderingGate(), Diary())
    gate.submit(isBarrier: true) {}
    gate.submit(isBarrier: true) {
      diary.write("short")
      gate.release()
    }
    gate.submit(isBarrier: false) { diary.write("after") }
    gate.release()
    #expect(diary.all == ["short", "after"] && !gate.isHeld)
  }
}
