import AgentPorts
import CSQLite
import StorageFaults
import Testing

import SQLiteStore

/// Schema versions, and files of other programs.
@Suite struct SchemaTests {
  let disk = SimulatedDisk()

  func open() throws -> SQLiteStore { try SQLiteStore(path: "store", vfs: disk.vfsName) }

  /// Runs SQL on the file, bypassing the store.
  func run(_ sql: String) throws {
    var connection: OpaquePointer?
    try #require(
      sqlite3_open_v2("store", &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, disk.vfsName) == SQLITE_OK)
    defer { sqlite3_close(connection) }
    var message: UnsafeMutablePointer<CChar>?
    let code = sqlite3_exec(connection, sql, nil, nil, &message)
    try #require(code == SQLITE_OK, "\(message.map { String(cString: $0) } ?? "")")
  }

  @Test func schemaVersions_countFromOneWithoutAGap() {
    #expect(Migration.all.map(\.version) == Array(1...Migration.all.count))
  }

  @Test(arguments: 0..<Migration.all.count) func olderSchema_getsWhatIsMissing(version: Int) throws {
    try run(Migration.all[..<version].map(\.sql).joined())
    if version > 0 {
      try run("PRAGMA application_id = \(StoreHeader.applicationID); PRAGMA user_version = \(version)")
    }
    var store = try open()
    try store.commit([.put(record(.alice, .grant, "token"))])
    store.close()
    store = try open()
    #expect(try store.records(in: .alice).count == 1)
    store.close()
  }

  @Test func newerSchema_isRefusedAndLeftUnchanged() throws {
    try open().close()
    try run("PRAGMA user_version = 99")
    let before = disk.bytes(of: "store")
    #expect(throws: StoreFailure.newerSchema(found: 99, known: Migration.all.count)) { try open() }
    #expect(disk.bytes(of: "store") == before)
  }

  @Test func databaseOfAnotherProgram_isRefusedAndLeftUnchanged() throws {
    try run("CREATE TABLE theirs (x); PRAGMA application_id = 7")
    let before = disk.bytes(of: "store")
    #expect(throws: StoreFailure.corrupt) { try open() }
    #expect(disk.bytes(of: "store") == before)
  }

  @Test func databaseWithoutTheApplicationID_isRefused() throws {
    try run("CREATE TABLE theirs (x)")
    #expect(throws: StoreFailure.corrupt) { try open() }
  }

  @Test func fileThatIsNoDatabase_isRefused() throws {
    disk.overwrite("store", at: 0, with: Array(repeating: 0x2a, count: 8192))
    #expect(throws: StoreFailure.corrupt) { try open() }
  }

  @Test(arguments: [
    "TABLE record", "TABLE audit", "TABLE auditDecision", "TABLE keySlot", "INDEX recordByKey", "INDEX recordByKind",
  ])
  func schemaWithAMissingPart_isCorrupt(part: String) throws {
    try open().close()
    try run("DROP \(part)")
    #expect(throws: StoreFailure.corrupt) { try open() }
  }

  /// Overwritten pages: reads and the integrity check report them; nothing else happens.
  @Test func damagedPages_areReported() throws {
    let store = try open()
    for index in 0..<60 as Range<UInt8> {
      try store.commit([.put(record(.alice, .grant, id: [index], String(repeating: "x", count: 2_000)))])
    }
    store.close()
    let clean = disk.snapshot()
    let size = disk.bytes(of: "store").count
    var told = 0
    for page in 1..<(size / 4096) {
      disk.restore(clean)
      disk.overwrite("store", at: page * 4096, with: Array(repeating: UInt8(truncatingIfNeeded: page), count: 4096))
      do {
        let store = try open()
        defer { store.close() }
        let problems = try store.integrityProblems()
        _ = try store.records(in: .alice)
        if !problems.isEmpty { told += 1 }
      } catch {
        #expect(error as? StoreFailure == .corrupt)
        told += 1
      }
    }
    // SQLite may not notice damage in page content alone: there the seal decides.
    #expect(told > 10)
  }

  @Test func plantedTrigger_doesNotRun() throws {
    try open().close()
    try run(
      """
      CREATE TRIGGER planted AFTER INSERT ON record BEGIN
        DELETE FROM metadata;
      END
      """)
    let store = try open()
    try store.commit([.putMetadata(name: "head", value: [1])])
    try store.commit([.put(record(.alice, .grant, "token"))])
    #expect(try store.metadata("head") == [1])
    store.close()
  }

  /// Such values become values that no record has, so that they do not open, and the other rows are still read.
  @Test func rowWithMisfitValues_leavesOtherRowsReadable() throws {
    let store = try open()
    try store.commit([.put(record(.alice, .grant, "token"))])
    store.close()
    try run(
      """
      PRAGMA ignore_check_constraints = ON;
      INSERT INTO record (partition, kind, id, schema, keyEpoch, generation, sealed)
      VALUES (zeroblob(16), 70000, x'', -1, 4294967296, -1, x'00'), (x'01', \(RecordKind.grant.rawValue), x'', 1, 1, 1, x'00')
      """)
    let again = try open()
    let strange = try #require(try again.records(in: .vault).first)
    #expect(strange.key.kind.rawValue == .max)
    #expect((strange.schema, strange.keyEpoch, strange.generation) == (.max, .max, .max))
    let grants = try again.records(kind: .grant)
    #expect(grants.map(\.key.partition).filter { $0 == .alice }.count == 1)
    #expect(grants.count == 2)
    again.close()
  }
}

/// A full or read-only disk, simulated.
@Suite struct RoomTests {
  let disk = SimulatedDisk()

  @Test func reservedSpace_servesACheckedBatchOnAFullDisk() throws {
    let store = try SQLiteStore(path: "store", vfs: disk.vfsName)
    defer { store.close() }
    try store.commit([.put(record(.alice, .grant, "before"))])
    try store.checkWritable(bytes: 30_000)
    disk.setCapacity(0)
    try store.checkWritable(bytes: 30_000)
    #expect(throws: StoreFailure.full) { try store.checkWritable(bytes: 3_000_000) }
    disk.setCapacity(disk.bytes().count)
    let successor = record(.alice, .grant, generation: 2, String(repeating: "x", count: 30_000))
    try store.commit([.put(successor)])
    #expect(try store.record(successor.key) == successor)
    #expect(throws: StoreFailure.full) { try store.checkWritable(bytes: 3_000_000) }
    disk.setCapacity(nil)
    try store.checkWritable(bytes: 3_000_000)
  }

  @Test func batchForFreeSpace_isRefusedOnAFullDisk_andLeavesTheReserve() throws {
    let store = try SQLiteStore(path: "store", vfs: disk.vfsName)
    defer { store.close() }
    let large = record(.alice, .grant, String(repeating: "x", count: 50_000))
    try store.commit([.put(record(.alice, .grant, "before"))], .disk, .free)
    disk.setCapacity(disk.bytes().count)
    #expect(throws: StoreFailure.full) { try store.commit([.put(large)], .disk, .free) }
    #expect(throws: StoreFailure.full) { try store.commit([.put(large)], .kernel, .free) }
    let successor = record(.alice, .grant, id: [1], String(repeating: "x", count: 100_000))
    try store.commit([.put(successor)])
    #expect(try store.record(successor.key) == successor)
    #expect(try store.record(large.key) != large)
    // The reserve is used up, and nothing but what needs it is stored until there is one again.
    #expect(throws: StoreFailure.full) { try store.commit([.put(large)], .disk, .free) }
    disk.setCapacity(nil)
    try store.commit([.put(large)], .disk, .free)
    #expect(try store.record(large.key) == large)
  }

  @Test func simulatedFullDisk_failsTheCheckAndTheCommit() throws {
    let store = try SQLiteStore(path: "store", vfs: disk.vfsName)
    defer { store.close() }
    disk.plan(.fail(.full, once: false), at: disk.operations + 1)
    #expect(throws: StoreFailure.full) { try store.checkWritable(bytes: 100) }
    #expect(throws: StoreFailure.full) { try store.commit([.put(record(.alice, .grant, "x"))]) }
    disk.withdrawPlan()
    try store.checkWritable(bytes: 100)
  }

  @Test func simulatedDiskError_failsTheCheck() throws {
    let store = try SQLiteStore(path: "store", vfs: disk.vfsName)
    defer { store.close() }
    try store.checkWritable(bytes: 100)
    disk.plan(.fail(.inputOutput, once: false), at: disk.operations + 1)
    #expect(throws: StoreFailure.inputOutput) { try store.checkWritable(bytes: 100) }
    disk.withdrawPlan()
    try store.checkWritable(bytes: 100)
  }

  @Test func simulatedReadOnlyDisk_failsTheCheckAndTheCommit() throws {
    let store = try SQLiteStore(path: "store", vfs: disk.vfsName)
    defer { store.close() }
    try store.commit([.put(record(.alice, .grant, "before"))])
    try store.checkWritable(bytes: 100)
    disk.setReadOnly(true)
    #expect(throws: StoreFailure.readOnly) { try store.checkWritable(bytes: 100) }
    #expect(throws: StoreFailure.readOnly) { try store.commit([.put(record(.alice, .grant, "x"))]) }
    disk.setReadOnly(false)
    try store.commit([.put(record(.alice, .grant, "after"))])
    #expect(try store.records(in: .alice) == [record(.alice, .grant, "after")])
  }
}
