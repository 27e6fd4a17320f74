import AgentPorts
import KeyProviders
import Synchronization
import Testing

@Suite struct AsyncRollbackAnchorTests {
  /// Records every sequence passed to `advance`.
  private final class Told: RollbackAnchor {
    let counts = Mutex<[UInt64]>([])
    func sequence(databaseID: [UInt8]) -> UInt64? { counts.withLock { $0.last } }
    func advance(databaseID: [UInt8], to sequence: UInt64) -> Bool {
      counts.withLock { $0.append(sequence) }
      return true
    }
  }

  /// Work that runs when the test says so.
  private final class Work: Sendable {
    private let waiting = Mutex<[@Sendable () -> Void]>([])
    func add(_ work: @escaping @Sendable () -> Void) { waiting.withLock { $0.append(work) } }
    func doAll() -> Int {
      let all = waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
      for work in all { work() }
      return all.count
    }
  }

  @Test func asyncAnchor_storesOnlyTheNewestSequence() throws {
    let (told, work) = (Told(), Work())
    let anchor = AsyncRollbackAnchor(told) { work.add($0) }
    for count: UInt64 in 1...5 { try anchor.advance(databaseID: [1], to: count) }
    #expect(told.counts.withLock { $0 } == [], "no caller waits for the anchor")
    #expect(work.doAll() == 1)
    #expect(told.counts.withLock { $0 } == [5])
    try anchor.advance(databaseID: [1], to: 6)
    #expect(work.doAll() == 1)
    #expect(try anchor.sequence(databaseID: [1]) == 6)
  }
}
