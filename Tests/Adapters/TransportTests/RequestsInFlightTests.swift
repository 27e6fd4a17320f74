import AgentServing
import Synchronization
import Testing

@Suite struct RequestsInFlightTests {
  final class Diary: Sendable {
    private let entries = Mutex<[String]>([])
    var all: [String] { entries.withLock { $0 } }
    func write(_ entry: String) { entries.withLock { $0.append(entry) } }
  }

  /// Requests that run until the test ends them.
  private func requests(limit: Int, queueBound: Int = 1000, _ diary: Diary) -> RequestsInFlight {
    RequestsInFlight(limit: limit, queueBound: queueBound, roomWasMade: { diary.write("room") })
  }

  private func submit(_ number: UInt8, bytes: Int = 10, _ requests: RequestsInFlight, _ diary: Diary) {
    requests.submit([number], bytes: bytes, cancelled: { diary.write("-\(number)") }) { diary.write("\(number)") }
  }

  @discardableResult private func answer(_ number: UInt8, _ requests: RequestsInFlight) -> Bool {
    requests.release([number])
    return requests.end()
  }

  @Test func requestsOverTheLimit_waitInTheirOrder() {
    let diary = Diary()
    let requests = requests(limit: 2, diary)
    for number in 1...5 as ClosedRange<UInt8> { submit(number, requests, diary) }
    #expect(diary.all == ["1", "2"])
    answer(2, requests)
    #expect(diary.all == ["1", "2", "3"])
    answer(3, requests)
    answer(1, requests)
    #expect(diary.all == ["1", "2", "3", "4", "5"])
    #expect(!answer(5, requests) && answer(4, requests) && requests.isEmpty)
  }

  @Test func notification_takesAPlace() {
    let diary = Diary()
    let requests = requests(limit: 1, diary)
    requests.submit(nil, bytes: 10) { diary.write("notification") }
    submit(1, requests, diary)
    #expect(diary.all == ["notification"])
    requests.release(nil)
    #expect(!requests.end())
    #expect(diary.all == ["notification", "1"])
  }

  /// Each request of a long queue ends within its `work`: no stack grows, and the order stays.
  @Test func longQueueOfShortRequests_runsInOrder() {
    let diary = Diary()
    let requests = RequestsInFlight(limit: 1, queueBound: .max)
    requests.submit([0], bytes: 1) {}
    for number in 1...50_000 {
      requests.submit(nil, bytes: 1) {
        if number % 10_000 == 0 { diary.write("\(number)") }
        requests.release(nil)
        _ = requests.end()
      }
    }
    #expect(diary.all.isEmpty)
    answer(0, requests)
    #expect(diary.all == ["10000", "20000", "30000", "40000", "50000"] && requests.isEmpty)
  }

  @Test func answerFromMemory_overtakesNoWaitingRequest() {
    let diary = Diary()
    let requests = requests(limit: 1, diary)
    func mayOvertake(_ id: [UInt8]) -> Bool { id.withUnsafeBytes { requests.mayOvertake($0) } }
    submit(1, requests, diary)
    #expect(mayOvertake([9]) && !mayOvertake([1]))
    submit(2, requests, diary)
    #expect(!mayOvertake([9]))
    answer(1, requests)
    #expect(mayOvertake([9]) && !mayOvertake([2]))
  }

  @Test func waitingRequest_isCancelledAtOnceAndNeverRuns() {
    let diary = Diary()
    let requests = requests(limit: 1, diary)
    for number in 1...3 as ClosedRange<UInt8> { submit(number, requests, diary) }
    requests.cancel([2])
    requests.cancel([2])
    #expect(diary.all == ["1", "-2"] && !([2] as [UInt8]).withUnsafeBytes { requests.contains($0) })
    _ = requests.end()
    answer(1, requests)
    #expect(diary.all == ["1", "-2", "3"])
    #expect(answer(3, requests))
  }

  @Test func waitingRequestThatMustRun_isNotCancelled() {
    let diary = Diary()
    let requests = requests(limit: 1, diary)
    submit(1, requests, diary)
    requests.submit([2], bytes: 10) { diary.write("2") }
    requests.cancel([2])
    answer(1, requests)
    #expect(diary.all == ["1", "2"])
  }

  /// From the bound on the connection is not read, until half of the queue has left.
  @Test func fullQueue_hasRoomAgainAtHalf() {
    let diary = Diary()
    let requests = requests(limit: 1, queueBound: 40, diary)
    for number in 1...4 as ClosedRange<UInt8> { submit(number, requests, diary) }
    #expect(requests.hasRoom)
    submit(5, requests, diary)
    #expect(!requests.hasRoom)
    answer(1, requests)
    #expect(!requests.hasRoom)
    requests.cancel([5])
    #expect(requests.hasRoom && diary.all == ["1", "2", "-5", "room"])
  }

  /// A client that does not read: its answers wait no longer than its requests do.
  @Test func queueOfAClientThatReadsNothing_standsStillUntilItReads() {
    let diary = Diary()
    let reads = Atomic(true)
    let requests = RequestsInFlight(limit: 1, mayStart: { reads.load(ordering: .relaxed) })
    for number in 1...3 as ClosedRange<UInt8> { submit(number, requests, diary) }
    reads.store(false, ordering: .relaxed)
    answer(1, requests)
    requests.resume()
    #expect(diary.all == ["1"] && !([9] as [UInt8]).withUnsafeBytes { requests.mayOvertake($0) })
    reads.store(true, ordering: .relaxed)
    requests.resume()
    #expect(diary.all == ["1", "2"])
    answer(2, requests)
    #expect(diary.all == ["1", "2", "3"])
  }

  @Test func connection_staysUntilTheLastAnswerIsQueued() {
    let requests = RequestsInFlight()
    requests.submit([1], bytes: 1) {}
    requests.submit([2], bytes: 1) {}
    requests.release([1])
    requests.release([2])
    #expect(!requests.isEmpty)
    #expect(!requests.end() && requests.end() && requests.isEmpty)
  }

  @Test func idThatIsWrittenInAnotherWay_isThatOfTheSameRequest() {
    func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
    let diary = Diary()
    let requests = RequestsInFlight(limit: 1)
    requests.submit(bytes(#""A""#), bytes: 1) {}
    requests.submit(bytes("10"), bytes: 1, cancelled: { diary.write("cancelled") }) {}
    for id in [#""\u0041""#, "1.0e1"] {
      let isInFlight = bytes(id).withUnsafeBytes { requests.contains($0) }
      #expect(isInFlight, "\(id)")
    }
    requests.cancel(bytes("10.0"))
    #expect(diary.all == ["cancelled"])
    requests.release(bytes(#""A""#))
    let isFree = bytes(#""\u0041""#).withUnsafeBytes { !requests.contains($0) }
    #expect(isFree)
  }

  /// Before, during and after a run: a cancellation reaches the named request and no other.
  @Test func cancellation_reachesOnlyTheNamedRequest() async {
    let requests = RequestsInFlight()
    requests.submit([1], bytes: 1) {}
    requests.submit([2], bytes: 1) {}
    requests.cancel([1])
    requests.cancel([9])
    #expect(await Task { await requests.run([1]) { Task.isCancelled } }.value)
    await Task { #expect(!(await requests.run([2]) { Task.isCancelled })) }.value
    let task = Task {
      await requests.run([2]) {
        while !Task.isCancelled { await Task.yield() }
        return true
      }
    }
    requests.cancel([2])
    #expect(await task.value)
  }

  @Test func closedConnection_cancelsWhatRunsAndForgetsWhatWaits() async {
    let diary = Diary()
    let requests = requests(limit: 2, diary)
    for number in 1...3 as ClosedRange<UInt8> { submit(number, requests, diary) }
    requests.abandon()
    for id in [UInt8(1), 2] { #expect(await Task { await requests.run([id]) { Task.isCancelled } }.value) }
    #expect(!answer(1, requests) && answer(2, requests))
    #expect(diary.all == ["1", "2"])
  }
}
