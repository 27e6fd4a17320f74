import AgentPorts
import Foundation
import SQLiteStore
import StorageFaults
import Testing

/// SQLite moves rows between pages and leaves copies of them in the unallocated bytes, also with `secure_delete`.
@Suite struct ErasingTests {
  /// Rows of two people take turns, then Bob's grow, so that rows move. Which sizes leave a copy depends on SQLite.
  struct Sizes: CustomTestStringConvertible {
    var rows, first, grown: Int
    var testDescription: String { "\(rows) rows, \(first) then \(grown) bytes" }
  }

  static let sizes = [6, 8].flatMap { rows in
    stride(from: 300, to: 1500, by: 100).flatMap { first in
      stride(from: first + 100, to: 2600, by: 200).map { Sizes(rows: rows, first: first, grown: $0) }
    }
  }

  private static let sentinel = Array("SENTINEL-OF-ALICE".utf8)

  private func hasSentinel(_ disk: SimulatedDisk) -> Bool {
    ["store", "store-wal"].contains { name in
      Data(disk.bytes(of: name)).range(of: Data(Self.sentinel)) != nil
    }
  }

  private func row(_ partition: PartitionID, _ number: Int, _ size: Int, generation: UInt64 = 1) -> StoreWrite {
    let mark = partition == .alice ? "SENTINEL-OF-ALICE" : ""
    return .put(
      record(
        partition, .grant, id: [UInt8(number)], generation: generation, mark + String(repeating: ".", count: size)))
  }

  /// A store with the rows of Bob, and those of Alice deleted.
  private func store(on disk: SimulatedDisk, _ sizes: Sizes) throws -> SQLiteStore {
    let store = try SQLiteStore(path: "store", vfs: disk.vfsName)
    for number in 0..<sizes.rows {
      try store.commit([row(.bob, number, sizes.first)])
      try store.commit([row(.alice, number, sizes.first)])
    }
    for number in 0..<sizes.rows { try store.commit([row(.bob, number, sizes.grown, generation: 2)]) }
    try store.commit([.deletePartition(.alice)])
    return store
  }

  @Test(arguments: sizes) func movedRows_leaveNoCopyAfterErasing(_ sizes: Sizes) throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk, sizes)
    #expect(try store.eraseDeleted())
    #expect(!hasSentinel(disk))
    #expect(try store.integrityProblems() == [])
    // What was cached of the pages is not written again.
    for number in 0..<sizes.rows { try store.commit([row(.bob, number, sizes.grown, generation: 3)]) }
    #expect(!hasSentinel(disk))
    #expect(try store.records(in: .bob).count == sizes.rows)
    store.close()
    #expect(!hasSentinel(disk))
  }

  @Test func erasingThatDiesAtAnyOperation_leavesASoundStoreAndIsRepeated() throws {
    for death in [SimulatedDisk.Death.kill, .powerLoss(seed: 7)] {
      for step in 1... {
        let disk = SimulatedDisk()
        let first = try store(on: disk, Sizes(rows: 6, first: 900, grown: 1400))
        let start = disk.operations
        disk.plan(.die(death), at: start + step)
        _ = try? first.eraseDeleted()
        first.close()
        let operations = disk.operations - start
        disk.revive()
        let second = try SQLiteStore(path: "store", vfs: disk.vfsName)
        #expect(try second.integrityProblems() == [], "\(death) at \(step)")
        #expect(try second.records(in: .bob).count == 6)
        #expect(try second.eraseDeleted())
        #expect(!hasSentinel(disk), "\(death) at \(step)")
        second.close()
        if operations < step { break }
        try #require(step < 200)
      }
    }
  }

  @Test func erasingWhoseSyncFails_isWrittenAgain() throws {
    for step in 1... {
      let disk = SimulatedDisk()
      let store = try store(on: disk, Sizes(rows: 6, first: 900, grown: 1400))
      let start = disk.operations
      disk.plan(.fail(.inputOutput, once: true), at: start + step)
      let isErased = try? store.eraseDeleted()
      let operations = disk.operations - start
      disk.withdrawPlan()
      if isErased != true { #expect(try store.eraseDeleted()) }
      // As the note of the erasure is deleted; its sync makes the emptied log durable.
      try store.commit([.deletePartition(.alice)])
      // What was only in the kernel's memory is lost.
      disk.die(.powerLoss(seed: UInt64(step)))
      store.close()
      disk.revive()
      #expect(!hasSentinel(disk), "step \(step)")
      if operations < step { break }
      try #require(step < 200)
    }
  }
}
