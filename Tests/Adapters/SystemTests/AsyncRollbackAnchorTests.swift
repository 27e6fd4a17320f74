import AgentModel
import AgentPorts
import KeyProviders
import Synchronization
import Testing

@Suite struct AsyncRollbackAnchorTests {
  /// Records every sequence passed to `advance`.
  private final class Told: RollbackAnchor {
    let counts = Mutex<[UInt64]>([])
    let prints = Mutex<[RootPrint]>([])
    func sequence(databaseID: [UInt8]) -> UInt64? { counts.withLock { $0.last } }
    func advance(databaseID: [UInt8], to sequence: UInt64) -> Bool {
      counts.withLock { $0.append(sequence) }
      return true
    }
    func rootPrints(databaseID: [UInt8]) -> [RootPrint] { prints.withLock { $0 } }
    func record(_ prints: [RootPrint], databaseID: [UInt8]) { self.prints.withLock { $0 = prints } }
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

  private static let print = RootPrint(epoch: 1, digest: [UInt8](repeating: 7, count: RootPrint.digestBytes))

  @Test func anchorBesideSlots_takesPartWhileThereIsSuchASlot() throws {
    let told = Told()
    told.counts.withLock { $0 = [9] }
    let anchor = AsyncRollbackAnchor(told, besideSlotsOf: "secretService") { $0() }
    #expect(try anchor.sequence(databaseID: [1]) == nil, "the anchor is not asked")
    try anchor.advance(databaseID: [1], to: 10)
    try anchor.record([Self.print], databaseID: [1])
    #expect(told.counts.withLock { $0 } == [9] && told.prints.withLock { $0 } == [])
    anchor.slotsChanged(to: ["keyFile", "secretService"])
    #expect(try anchor.sequence(databaseID: [1]) == 9)
    try anchor.advance(databaseID: [1], to: 11)
    try anchor.record([Self.print], databaseID: [1])
    #expect(told.counts.withLock { $0 } == [9, 11] && told.prints.withLock { $0 } == [Self.print])
    anchor.slotsChanged(to: ["keyFile"])
    try anchor.advance(databaseID: [1], to: 12)
    #expect(told.counts.withLock { $0 } == [9, 11])
  }

  @Test func anchorThatHangs_doesNotKeepTheStoreClosedAndCountsOnceItAnswers() throws {
    let (told, work) = (Told(), Work())
    told.counts.withLock { $0 = [50] }
    let anchor = AsyncRollbackAnchor(told, patience: Milliseconds(5)) { work.add($0) }
    #expect(throws: KeySourceFailure.unavailable) { try anchor.sequence(databaseID: [1]) }
    #expect(throws: KeySourceFailure.unavailable, "nothing waits a second time") {
      try anchor.rootPrints(databaseID: [1])
    }
    try anchor.record([Self.print], databaseID: [1])
    #expect(work.doAll() == 1, "what was not read is not replaced")
    #expect(try anchor.sequence(databaseID: [1]) == 50)
    #expect(told.prints.withLock { $0 } == [])
  }

  @Test func unreachableAnchor_isAskedAgain() throws {
    let failing = Locked()
    let anchor = AsyncRollbackAnchor(failing) { $0() }
    #expect(throws: KeySourceFailure.locked) { try anchor.sequence(databaseID: [1]) }
    failing.isLocked.withLock { $0 = false }
    #expect(try anchor.sequence(databaseID: [1]) == 4)
  }

  private final class Locked: RollbackAnchor {
    let isLocked = Mutex(true)
    func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
      if isLocked.withLock({ $0 }) { throw .locked }
      return 4
    }
    func advance(databaseID: [UInt8], to sequence: UInt64) -> Bool { true }
    func rootPrints(databaseID: [UInt8]) -> [RootPrint] { [] }
    func record(_ prints: [RootPrint], databaseID: [UInt8]) {}
  }
}
