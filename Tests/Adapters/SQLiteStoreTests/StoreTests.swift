import AgentPorts
import SQLiteStore
import StorageFaults
import Testing

/// The promises of `Store`, on a disk in memory.
@Suite struct StoreTests {
  let disk = SimulatedDisk()

  func open() throws -> SQLiteStore { try SQLiteStore(path: "store", vfs: disk.vfsName) }

  @Test func newStore_isEmptyAndHasAnID() throws {
    let store = try open()
    #expect(store.databaseID.count == 16)
    #expect(try store.partitions().isEmpty)
    #expect(try store.keySlots().isEmpty)
    #expect(try store.metadata("head") == nil)
    #expect(try store.record(RecordKey(partition: .alice, kind: .grant)) == nil)
    #expect(try store.integrityProblems() == [])
  }

  @Test func twoStores_haveDifferentIDs() throws {
    let other = SimulatedDisk()
    let (first, second) = (try open(), try SQLiteStore(path: "store", vfs: other.vfsName))
    #expect(first.databaseID != second.databaseID)
    second.close()
    withExtendedLifetime(other) {}
  }

  @Test func committedData_survivesReopening() throws {
    let store = try open()
    let id = store.databaseID
    try store.commit([
      .put(record(.alice, .grant, "token")), .putMetadata(name: "head", value: [7]), .putKeySlot(slot),
    ])
    store.close()

    let again = try open()
    #expect(again.databaseID == id)
    #expect(try again.records(in: .alice) == [record(.alice, .grant, "token")])
    #expect(try again.metadata("head") == [7])
    #expect(try again.keySlots() == [slot])
  }

  @Test func records_areOrderedByKindThenID() throws {
    let store = try open()
    let expected = [
      record(.alice, .grant, id: [], "no id"), record(.alice, .grant, id: [0], "0"),
      record(.alice, .grant, id: [0, 0], "00"),
      record(.alice, .grant, id: [0xff], "ff"), record(.alice, .snapshot, id: [5], "s"),
      record(.alice, .note, id: [1], "n"),
    ]
    try store.commit(expected.reversed().map { .put($0) })
    #expect(try store.records(in: .alice) == expected)
    #expect(try store.records(in: .alice, kind: .grant) == Array(expected[..<4]))
    #expect(try store.records(in: .bob).isEmpty)
  }

  @Test func partitions_areListedOnceInOrder() throws {
    let store = try open()
    try store.commit([
      .put(record(.bob, .grant, "b")), .put(record(.alice, .grant, "a")), .put(record(.alice, .note, "n")),
      .put(record(.vault, .note, "v")),
    ])
    #expect(try store.partitions() == [.vault, .alice, .bob])
  }

  @Test func put_replacesOnlyItsOwnRecord() throws {
    let store = try open()
    try store.commit([.put(record(.alice, .grant, "old")), .put(record(.bob, .grant, "bob"))])
    var next = record(.alice, .grant, generation: 2, "new")
    next.schema = .max
    next.keyEpoch = .max
    next.generation = .max
    try store.commit([.put(next)])
    #expect(try store.record(next.key) == next)
    #expect(try store.records(in: .bob) == [record(.bob, .grant, "bob")])
  }

  @Test func writesOfABatch_applyInOrder() throws {
    let store = try open()
    try store.commit([
      .put(record(.alice, .grant, "first")), .deletePartition(.alice), .put(record(.alice, .note, "after")),
      .putMetadata(name: "head", value: [1]), .deleteMetadata(name: "head"),
      .putKeySlot(slot), .deleteKeySlot(number: 0),
    ])
    #expect(try store.records(in: .alice) == [record(.alice, .note, "after")])
    #expect(try store.metadata("head") == nil)
    #expect(try store.keySlots().isEmpty)
  }

  @Test func delete_removesOneRecordOrOnePartition() throws {
    let store = try open()
    try store.commit([
      .put(record(.alice, .grant, id: [1], "1")), .put(record(.alice, .grant, id: [2], "2")),
      .put(record(.bob, .grant, "b")),
    ])
    try store.commit([.delete(RecordKey(partition: .alice, kind: .grant, id: [1]))])
    #expect(try store.records(in: .alice) == [record(.alice, .grant, id: [2], "2")])
    try store.commit([.deletePartition(.alice), .delete(RecordKey(partition: .alice, kind: .note))])
    #expect(try store.partitions() == [.bob])
  }

  @Test func emptyAndLargeContents_areReadBackUnchanged() throws {
    let store = try open()
    let body = (0..<1_200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    var large = record(.alice, .note, "")
    large.sealed = body
    try store.commit([
      .put(large), .put(record(.alice, .grant, "")), .putMetadata(name: "", value: []),
      .putMetadata(name: "näme\u{0}x", value: [0]),
    ])
    #expect(try store.record(large.key)?.sealed == body)
    #expect(try store.record(RecordKey(partition: .alice, kind: .grant))?.sealed == [])
    #expect(try store.metadata("") == [])
    #expect(try store.metadata("näme\u{0}x") == [0])
    #expect(try store.metadata("näme") == nil)
  }

  @Test func keySlots_areOrderedByNumber() throws {
    let store = try open()
    var second = slot
    second.number = 7
    second.protection = "passphrase"
    try store.commit([.putKeySlot(second), .putKeySlot(slot)])
    #expect(try store.keySlots() == [slot, second])
    second.wrappedRootKey = [1]
    try store.commit([.putKeySlot(second), .deleteKeySlot(number: 0)])
    #expect(try store.keySlots() == [second])
  }

  @Test func forEachRecord_visitsEveryRecordOfAKind() throws {
    let store = try open()
    try store.commit([
      .put(record(.bob, .grant, "b")), .put(record(.alice, .grant, "a")), .put(record(.alice, .note, "n")),
      .put(record(.vault, .grant, id: [9], "v")),
    ])
    var found: [SealedRecord] = []
    try store.forEachRecord(of: .grant) { found.append($0) }
    #expect(
      found.sorted { $0.key.partition < $1.key.partition }
        == [record(.vault, .grant, id: [9], "v"), record(.alice, .grant, "a"), record(.bob, .grant, "b")])
  }

  @Test func emptyBatch_touchesNoFile() throws {
    let store = try open()
    let operations = disk.operations
    try store.commit([])
    #expect(disk.operations == operations)
  }

  @Test func everyCommit_isSynced() throws {
    let store = try open()
    try store.commit([.put(record(.alice, .grant, "0"))])
    for generation in 2..<50 as Range<UInt64> {
      let syncs = disk.syncs
      try store.commit([.put(record(.alice, .grant, generation: generation, "x"))])
      #expect(disk.syncs > syncs)
    }
  }

  @Test func closedStore_failsEveryCall() throws {
    let store = try open()
    store.close()
    store.close()
    #expect(throws: StoreFailure.closed) { try store.partitions() }
    #expect(throws: StoreFailure.closed) { try store.commit([.deletePartition(.alice)]) }
    #expect(throws: StoreFailure.closed) { try store.checkWritable(bytes: 1) }
    #expect(throws: StoreFailure.closed) { try store.eraseDeleted() }
  }

  @Test func manyCommits_keepTheLogSmall() throws {
    let store = try open()
    for generation in 1..<2_000 as Range<UInt64> {
      try store.commit([.put(record(.alice, .grant, generation: generation, String(repeating: "x", count: 900)))])
    }
    #expect(disk.bytes(of: "store-wal").count < 2 << 20)
  }

  @Test func deletedData_isGoneAfterTruncatingTheLog() throws {
    let store = try open()
    let sentinel = "SENTINEL-OF-A-TOKEN"
    for index in 0..<50 as Range<UInt8> {
      try store.commit([.put(record(.alice, .grant, id: [index], sentinel + String(repeating: ".", count: 700)))])
    }
    try store.commit([.put(record(.bob, .grant, "stays")), .deletePartition(.alice)])
    #expect(try store.eraseDeleted())
    #expect(disk.bytes(of: "store-wal").isEmpty)
    let needle = Array(sentinel.utf8)
    let all = disk.bytes()
    #expect(!all.indices.dropLast(needle.count).contains { all[$0] == needle[0] && all[$0...].starts(with: needle) })
    #expect(try store.records(in: .bob).count == 1)
  }
}
