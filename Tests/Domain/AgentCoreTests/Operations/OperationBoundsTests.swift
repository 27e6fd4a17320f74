import AgentCore
import AgentModel
import Testing

/// Which operations fit into the queue (docs/operations.md, Bounds).
@Suite struct OperationBoundsTests {
  typealias Entry = OperationBounds.Entry

  private let none = OperationBounds.Bytes(all: 0)

  private func others(_ bytes: Int) -> OperationBounds.Bytes { OperationBounds.Bytes(all: bytes) }

  @Test("a full queue loses none that was not delivered")
  func bounds() {
    let now = Timestamp(milliseconds: 1_893_456_000_000)
    var done = OperationMachine(.agent)
    _ = done.leaves(at: now)
    #expect(!done.mayLeave)
    _ = done.answered(.init(status: 200), at: now, jitter: 0)
    #expect(done.mayLeave)
    let full = Array(repeating: Entry(mayLeave: false, bytes: 1), count: OperationBounds.mostOfAccount)
    #expect(OperationBounds.leaving(full, for: 1, others: none) == nil)
    var roomy = full
    roomy[7].mayLeave = true
    roomy[9].mayLeave = true
    #expect(OperationBounds.leaving(roomy, for: 1, others: none) == [7])
    #expect(OperationBounds.leaving([], for: 1, others: others(OperationBounds.mostBytes)) == nil)
    #expect(OperationBounds.leaving([], for: 1, others: others(OperationBounds.mostBytes - 1)) == [])
    #expect(OperationBounds.leaving(full, adding: 0, for: 0, others: none) == [])
    let delivered = Array(repeating: Entry(mayLeave: true, bytes: 1 << 20), count: 10)
    #expect(OperationBounds.leaving(delivered, for: 1, others: none) == [0, 1])
    let waiting = Array(repeating: Entry(mayLeave: false, bytes: 1 << 20), count: 10)
    #expect(OperationBounds.leaving(waiting, for: 1, others: none) == [])
    #expect(
      OperationBounds.leaving(roomy, adding: 0, for: 0, others: others(OperationBounds.mostBytes - 998)) == [7, 9])
  }

  @Test("an answer to a limited caller's operation is stored where their half is full")
  func answersBeyondTheHalf() {
    let many = Array(
      repeating: Entry(mayLeave: false, isLimited: true, bytes: 50_000),
      count: OperationBounds.mostOfLimitedCallers + 1)
    #expect(OperationBounds.leaving(many, adding: 0, for: 0, isLimited: true, others: none) == [])
    #expect(OperationBounds.leaving(many, for: 1, isLimited: true, others: none) == nil)
  }

  @Test("limited callers have half of an account's places, and the owner has the other half")
  func places() {
    let half = OperationBounds.mostOfLimitedCallers
    let limited = Array(repeating: Entry(mayLeave: false, isLimited: true, bytes: 1), count: half)
    #expect(OperationBounds.leaving(limited, for: 1, isLimited: true, others: none) == nil)
    #expect(OperationBounds.leaving(limited, for: 1, others: none) == [])
    #expect(OperationBounds.leaving(Array(limited.dropLast()), for: 1, isLimited: true, others: none) == [])
    var roomy = limited
    roomy[3].mayLeave = true
    let delivered = Entry(mayLeave: true, bytes: 1)
    // What the owner had delivered makes no room in the limited callers' half.
    #expect(OperationBounds.leaving([delivered] + limited, for: 1, isLimited: true, others: none) == nil)
    #expect(OperationBounds.leaving([delivered] + roomy, for: 1, isLimited: true, others: none) == [4])
  }

  @Test("limited callers have half of all accounts' bytes")
  func bytes() {
    let half = OperationBounds.mostBytesOfLimitedCallers
    let others = OperationBounds.Bytes(all: half, ofLimitedCallers: half)
    #expect(OperationBounds.leaving([], for: 1, isLimited: true, others: others) == nil)
    #expect(OperationBounds.leaving([], for: 1, others: others) == [])
    let ended = Entry(mayLeave: true, isLimited: true, bytes: 2)
    #expect(
      OperationBounds.leaving(
        [ended], for: 1, isLimited: true, others: .init(all: half, ofLimitedCallers: half - 1)) == [0])
  }
}
