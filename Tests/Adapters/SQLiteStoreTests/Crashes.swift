import AgentPorts
import SQLiteStore
import StorageFaults
import Testing

/// After a fault at any disk operation, a batch is completely on the disk or not at all.
@Suite struct AtomicityTests {
  /// The state before the batch, and a batch that touches every table and several pages.
  static let before: [StoreWrite] =
    [.putKeySlot(slot), .putMetadata(name: "head", value: [1])]
    + (0..<12).map { .put(record(.alice, .grant, id: [$0], String(repeating: "a", count: 800))) }
    + [.put(record(.bob, .note, String(repeating: "b", count: 9_000)))]

  static let batch: [StoreWrite] =
    [.putMetadata(name: "head", value: [2]), .deletePartition(.bob), .deleteKeySlot(number: 0)]
    + (0..<8).map { .put(record(.alice, .grant, id: [$0], generation: 2, String(repeating: "A", count: 1_700))) }
    + [.delete(RecordKey(partition: .alice, kind: .grant, id: [9])), .put(record(.vault, .note, "audit"))]

  /// The two states that are allowed afterwards.
  static func states() throws -> (old: Contents, new: Contents) {
    let disk = SimulatedDisk()
    let store = try SQLiteStore(path: "store", vfs: disk.vfsName)
    defer { store.close() }
    try store.commit(before)
    let old = try Contents(of: store)
    try store.commit(batch)
    return (old, try Contents(of: store))
  }

  static let faults: [SimulatedDisk.Fault] =
    [
      .fail(.inputOutput, once: true), .fail(.inputOutput, once: false), .fail(.full, once: true),
      .fail(.full, once: false), .die(.kill),
    ] + (1...6).map { .die(.powerLoss(seed: $0)) }

  @Test(arguments: faults) func batchWithAFaultAtAnyOperation_isWholeOrAbsent(fault: SimulatedDisk.Fault) throws {
    let (old, new) = try Self.states()
    var committed = 0
    for step in 1... {
      let disk = SimulatedDisk()
      var store = try SQLiteStore(path: "store", vfs: disk.vfsName)
      try store.commit(Self.before)
      let start = disk.operations
      disk.plan(fault, at: start + step, seed: UInt64(step))

      var failure: StoreFailure?
      do throws(StoreFailure) {
        try store.commit(Self.batch)
        _ = try store.eraseDeleted()
      } catch {
        failure = error
      }
      store.close()
      let operations = disk.operations - start
      disk.revive()

      store = try SQLiteStore(path: "store", vfs: disk.vfsName)
      let found = try Contents(of: store)
      #expect(found == old || found == new, "a mix after \(fault) at \(step)")
      #expect(try store.integrityProblems() == [], "\(fault) at \(step)")
      if failure == nil {
        #expect(found == new, "lost after \(fault) at \(step)")
        committed += 1
      }
      // The store goes on working.
      try store.commit([.putMetadata(name: "head", value: [3])])
      #expect(try store.metadata("head") == [3])
      store.close()
      if operations < step { break }
      try #require(step < 200)
    }
    #expect(committed > 0)
  }

  /// The first start creates the files and the schema.
  @Test(arguments: faults) func firstStartThatDies_succeedsWhenRepeated(fault: SimulatedDisk.Fault) throws {
    for step in 1... {
      let disk = SimulatedDisk()
      disk.plan(fault, at: step, seed: UInt64(step))
      let first = try? SQLiteStore(path: "store", vfs: disk.vfsName)
      try? first?.commit(Self.before)
      first?.close()
      let operations = disk.operations
      disk.revive()
      let store = try SQLiteStore(path: "store", vfs: disk.vfsName)
      #expect(try store.integrityProblems() == [])
      try store.commit(Self.before)
      #expect(try store.metadata("head") == [1])
      store.close()
      if operations < step { break }
      try #require(step < 300)
    }
  }
}

/// Acknowledged commits survive a later power loss, also after failed syncs.
@Suite struct DurabilityTests {
  /// Commits numbered values; returns the last acknowledged number.
  func run(_ store: SQLiteStore, _ numbers: ClosedRange<UInt8>) -> UInt8 {
    var acknowledged = numbers.lowerBound - 1
    for number in numbers {
      let batch: [StoreWrite] =
        [.putMetadata(name: "head", value: [number])]
        + (0..<6).map { .put(record(.alice, .grant, id: [$0], generation: UInt64(number), "\(number)")) }
      do { try store.commit(batch) } catch { continue }
      acknowledged = number
    }
    return acknowledged
  }

  func check(_ disk: SimulatedDisk, atLeast acknowledged: UInt8, _ comment: Comment) throws {
    let store = try SQLiteStore(path: "store", vfs: disk.vfsName)
    defer { store.close() }
    let head = try store.metadata("head")?[0] ?? 0
    #expect(head >= acknowledged, comment)
    for record in try store.records(in: .alice) {
      #expect(record.generation == UInt64(head), comment)
    }
    #expect(try store.integrityProblems() == [], comment)
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func acknowledgedCommits_surviveAFailedSyncAndAPowerLoss(seed: UInt64) throws {
    for step in 1... {
      let disk = SimulatedDisk()
      let store = try SQLiteStore(path: "store", vfs: disk.vfsName)
      let start = disk.operations
      disk.plan(.fail(.inputOutput, once: true), at: start + step, seed: seed &* 1_000 &+ UInt64(step))
      let acknowledged = run(store, 1...5)
      #expect(acknowledged == 5, "one failed operation at \(step) is recovered")
      let operations = disk.operations - start
      disk.die(.powerLoss(seed: seed &+ UInt64(step)))
      store.close()
      disk.revive()
      try check(disk, atLeast: acknowledged, "failed once at \(step), seed \(seed)")
      if operations < step { break }
      try #require(step < 400)
    }
  }

  /// The disk fails for so long that closing can't remove the log; then it recovers, and the process goes on.
  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func logLeftByFailedSyncs_isNotTrusted(seed: UInt64) throws {
    for step in 1... {
      let disk = SimulatedDisk()
      var store = try SQLiteStore(path: "store", vfs: disk.vfsName)
      #expect(run(store, 1...3) == 3)
      let start = disk.operations
      disk.plan(.fail(.inputOutput, once: false), at: start + step, seed: seed &* 77 &+ UInt64(step))
      var acknowledged = max(3, run(store, 4...6))
      let operations = disk.operations - start
      disk.withdrawPlan()
      if step % 2 == 0 {
        // Another process takes over, with the content of the page cache instead of the medium's.
        disk.die(.kill)
        store.close()
        disk.revive()
        store = try SQLiteStore(path: "store", vfs: disk.vfsName)
      }
      acknowledged = run(store, 7...9)
      #expect(acknowledged == 9, "a disk that recovered is written again, from \(step)")
      disk.die(.powerLoss(seed: seed &+ UInt64(step)))
      store.close()
      disk.revive()
      try check(disk, atLeast: acknowledged, "failing from \(step), seed \(seed)")
      if operations < step { break }
      try #require(step < 400)
    }
  }

  @Test func acknowledgedCommits_surviveAPowerLossAtAnyMoment() throws {
    for seed in 1...60 as ClosedRange<UInt64> {
      let disk = SimulatedDisk()
      let store = try SQLiteStore(path: "store", vfs: disk.vfsName)
      disk.plan(.die(.powerLoss(seed: seed)), at: disk.operations + Int(seed) * 3)
      let acknowledged = run(store, 1...40)
      store.close()
      disk.revive()
      try check(disk, atLeast: acknowledged, "seed \(seed)")
    }
  }

  @Test func oldCopyOfTheStore_opensWithItsOldContent() throws {
    let disk = SimulatedDisk()
    var store = try SQLiteStore(path: "store", vfs: disk.vfsName)
    #expect(run(store, 1...3) == 3)
    let old = disk.snapshot()
    #expect(run(store, 4...8) == 8)
    disk.restore(old)
    // The running store notices that its file was replaced.
    #expect(throws: StoreFailure.corrupt) { try store.commit([.putMetadata(name: "head", value: [0])]) }
    store.close()
    store = try SQLiteStore(path: "store", vfs: disk.vfsName)
    #expect(try store.metadata("head") == [3])
    store.close()
  }
}

/// Commits that are not synced (`StoreDurability.kernel`).
@Suite struct UnsyncedCommitTests {
  private func value(_ number: UInt8) -> [StoreWrite] {
    [.putMetadata(name: "head", value: [number])]
      + (0..<6).map { .put(record(.alice, .grant, id: [$0], generation: UInt64(number), "\(number)")) }
  }

  /// The number of the last commit that the store holds; all rows are of that commit.
  private func found(in store: SQLiteStore, _ comment: Comment) throws -> UInt8 {
    let head = try store.metadata("head")?[0] ?? 0
    for record in try store.records(in: .alice) { #expect(record.generation == UInt64(head), comment) }
    #expect(try store.integrityProblems() == [], comment)
    return head
  }

  private func reopened(_ disk: SimulatedDisk, _ store: SQLiteStore) throws -> SQLiteStore {
    store.close()
    disk.revive()
    return try SQLiteStore(path: "store", vfs: disk.vfsName)
  }

  @Test func unsyncedCommit_syncsNothing() throws {
    let disk = SimulatedDisk()
    let store = try SQLiteStore(path: "store", vfs: disk.vfsName)
    defer { store.close() }
    try store.commit(value(1))
    var before = disk.syncs
    for number in 2...50 as ClosedRange<UInt8> { try store.commit(value(number), .kernel) }
    #expect(disk.syncs == before)
    before = disk.syncs
    try store.commit(value(51))
    #expect(disk.syncs > before, "the next one is synced again")
  }

  @Test func unsyncedCommit_survivesAKill() throws {
    let disk = SimulatedDisk()
    var store = try SQLiteStore(path: "store", vfs: disk.vfsName)
    try store.commit(value(1))
    try store.commit(value(2), .kernel)
    disk.die(.kill)
    store = try reopened(disk, store)
    #expect(try found(in: store, "killed") == 2)
    // Its reader made it durable.
    disk.die(.powerLoss(seed: 1))
    store = try reopened(disk, store)
    #expect(try found(in: store, "killed, then without power") == 2)
    store.close()
  }

  /// It may go with the power; the commits before it stay, and nothing is half there.
  @Test func powerLoss_takesOnlyUnsyncedCommits() throws {
    var survivors: Set<UInt8> = []
    for seed in 1...60 as ClosedRange<UInt64> {
      let disk = SimulatedDisk()
      var store = try SQLiteStore(path: "store", vfs: disk.vfsName)
      try store.commit(value(1))
      try store.commit(value(2), .kernel)
      disk.die(.powerLoss(seed: seed))
      store = try reopened(disk, store)
      let head = try found(in: store, "seed \(seed)")
      #expect(head == 1 || head == 2, "seed \(seed)")
      survivors.insert(head)
      try store.commit(value(3))
      disk.die(.powerLoss(seed: seed))
      store = try reopened(disk, store)
      #expect(try found(in: store, "a commit after it, seed \(seed)") == 3)
      store.close()
    }
    #expect(survivors.contains(1), "the simulated power loss takes unsynced writes")
  }

  /// A later synced commit keeps the unsynced ones before it, also past the size at which the log is checkpointed.
  @Test func syncedCommit_keepsTheUnsyncedOnesBeforeIt() throws {
    for seed in 1...30 as ClosedRange<UInt64> {
      let disk = SimulatedDisk()
      var store = try SQLiteStore(path: "store", vfs: disk.vfsName)
      let last = UInt8(10 + seed * 4)
      for number in 1...last { try store.commit(value(number), number % 3 == 0 || number == last ? .disk : .kernel) }
      disk.die(.powerLoss(seed: seed))
      store = try reopened(disk, store)
      #expect(try found(in: store, "seed \(seed)") == last)
      store.close()
    }
  }

  /// One failed disk operation at any place of a mixed run: no commit is refused, and after a power loss nothing before
  /// the last synced one is missing.
  @Test(arguments: [1, 2, 3] as [UInt64]) func failedSync_losesNoEarlierCommit(seed: UInt64) throws {
    for step in 1... {
      let disk = SimulatedDisk()
      var store = try SQLiteStore(path: "store", vfs: disk.vfsName)
      try store.commit(value(1))
      let start = disk.operations
      disk.plan(.fail(.inputOutput, once: true), at: start + step, seed: seed &* 1_000 &+ UInt64(step))
      for number in 2...9 as ClosedRange<UInt8> { try store.commit(value(number), number % 2 == 0 ? .kernel : .disk) }
      let operations = disk.operations - start
      #expect(try found(in: store, "running, step \(step)") == 9)
      disk.die(.powerLoss(seed: seed &+ UInt64(step)))
      store = try reopened(disk, store)
      #expect(try found(in: store, "seed \(seed), step \(step)") == 9)
      store.close()
      if operations < step { break }
      try #require(step < 400)
    }
  }

  /// The sync of an explicit checkpoint fails, and SQLite would go on with a log that has a hole.
  @Test(arguments: [1, 2, 3] as [UInt64], [false, true])
  func failedTruncation_losesNoLaterCommit(seed: UInt64, isErasing: Bool) throws {
    for step in 1... {
      let disk = SimulatedDisk()
      var store = try SQLiteStore(path: "store", vfs: disk.vfsName)
      try store.commit(value(1))
      try store.commit(value(2), .kernel)
      let start = disk.operations
      disk.plan(.fail(.inputOutput, once: true), at: start + step, seed: seed &* 1_000 &+ UInt64(step))
      if isErasing { _ = try? store.eraseDeleted() } else { store.checkpoint() }
      let operations = disk.operations - start
      disk.withdrawPlan()
      try store.commit(value(3))
      disk.die(.powerLoss(seed: seed &+ UInt64(step)))
      store = try reopened(disk, store)
      #expect(try found(in: store, "seed \(seed), step \(step)") == 3)
      store.close()
      if operations < step { break }
      try #require(step < 400)
    }
  }
}
