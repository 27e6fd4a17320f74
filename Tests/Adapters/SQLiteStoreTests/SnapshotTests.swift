import AgentPorts
import Foundation
import SQLiteStore
import StorageFaults
import Testing

/// A copy of the store made while the store is in use.
@Suite struct SnapshotTests {
  let disk = SimulatedDisk()

  func open(_ path: String = "store") throws -> SQLiteStore { try SQLiteStore(path: path, vfs: disk.vfsName) }

  @Test func snapshot_holdsTheStoreAtItsMoment() throws {
    let store = try open()
    defer { store.close() }
    try store.commit([
      .put(record(.alice, .grant, "token")), .putMetadata(name: "head", value: [7]), .putKeySlot(slot),
    ])
    try store.snapshot(to: "copy")
    try store.commit([.put(record(.bob, .grant, "later")), .delete(RecordKey(partition: .alice, kind: .grant))])

    let copy = try open("copy")
    defer { copy.close() }
    #expect(copy.databaseID == store.databaseID)
    #expect(try copy.records(in: .alice) == [record(.alice, .grant, "token")])
    #expect(try copy.records(in: .bob).isEmpty)
    #expect(try copy.metadata("head") == [7])
    #expect(try copy.keySlots() == [slot])
    #expect(try copy.integrityProblems() == [])
    #expect(try store.records(in: .bob).count == 1)
  }

  @Test func snapshotTargetThatExists_isNotOverwritten() throws {
    let (store, other) = (try open(), try open("copy"))
    defer { store.close() }
    try other.commit([.put(record(.bob, .grant, "kept"))])
    other.close()
    #expect(throws: StoreFailure.corrupt) { try store.snapshot(to: "copy") }
    let again = try open("copy")
    defer { again.close() }
    #expect(try again.records(in: .bob).count == 1)
  }

  /// After a fault at any operation the store goes on, and a copy that was reported as made is whole.
  @Test func snapshotWithAFaultAtAnyOperation_leavesTheStoreUnchanged() throws {
    for fault in [SimulatedDisk.Fault.fail(.full, once: false), .fail(.inputOutput, once: true)] {
      var number = 0
      while true {
        number += 1
        let disk = SimulatedDisk()
        let store = try SQLiteStore(path: "store", vfs: disk.vfsName)
        try store.commit((0..<40).map { .put(record(.alice, .grant, id: [$0], "token \($0)")) })
        disk.plan(fault, at: disk.operations + number)
        let isMade = (try? store.snapshot(to: "copy")) != nil
        let isOver = !disk.hasFaulted
        disk.withdrawPlan()
        #expect(try store.records(in: .alice).count == 40)
        try store.commit([.put(record(.bob, .grant, "after"))])
        #expect(try store.integrityProblems() == [])
        store.close()
        if isMade {
          let copy = try SQLiteStore(path: "copy", vfs: disk.vfsName)
          #expect(try copy.records(in: .alice).count == 40)
          copy.close()
        }
        if isOver {
          #expect(isMade)
          break
        }
      }
      #expect(number > 3)
    }
  }

  @Test func snapshotOnAFullDisk_fails() throws {
    let store = try open()
    defer { store.close() }
    try store.commit([.put(record(.alice, .grant, String(repeating: "x", count: 100_000)))])
    disk.setCapacity(disk.bytes().count + 20_000)
    #expect(throws: StoreFailure.full) { try store.snapshot(to: "copy") }
  }

  @Test func snapshotFile_isPrivate() throws {
    let directory = PrivateDirectory()
    let store = try SQLiteStore(path: directory.database)
    defer { store.close() }
    try store.commit([.put(record(.alice, .grant, "token"))])
    let path = directory.database + "-copy"
    try store.snapshot(to: path)
    #expect(directory.mode("store.db-copy") == 0o600)
    let copy = try SQLiteStore(path: path)
    #expect(try copy.records(in: .alice).count == 1)
    copy.close()
    symlink(directory.database, directory.database + "-link")
    #expect(throws: StoreFailure.link("store.db-link")) { try store.snapshot(to: directory.database + "-link") }
  }
}
