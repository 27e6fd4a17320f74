import AgentPorts
import CSQLite
import Foundation
import SQLiteStore
import Testing

/// On the real file system.
@Suite struct FileTests {
  let directory = PrivateDirectory()

  /// In a process of its own, since the umask belongs to all threads.
  @Test func everyFileIsForItsOwnerAlone() async {
    await #expect(processExitsWith: .success) {
      for mask in [0, 0o022, 0o777] as [mode_t] {
        let directory = PrivateDirectory()
        umask(mask)
        let store = try SQLiteStore(path: directory.database)
        try store.commit([.put(record(.alice, .grant, "token"))])
        try store.checkWritable(bytes: 1_000)
        #expect(directory.names == ["store.db", "store.db-reserve", "store.db-shm", "store.db-wal"])
        for name in directory.names { #expect(directory.mode(name) == 0o600, "\(name)") }
        store.close()
        #expect(directory.names == ["store.db", "store.db-reserve"])
        umask(0o022)
      }
    }
  }

  @Test func modesThatWereOpenedAreClosedAgain() throws {
    try SQLiteStore(path: directory.database).close()
    chmod(directory.database, 0o666)
    let store = try SQLiteStore(path: directory.database)
    try store.commit([.put(record(.alice, .grant, "token"))])
    for name in directory.names { #expect(directory.mode(name) == 0o600, "\(name)") }
  }

  @Test func aSymlinkedDatabaseIsRefused() throws {
    let elsewhere = PrivateDirectory()
    try SQLiteStore(path: elsewhere.database).close()
    symlink(elsewhere.database, directory.database)
    #expect(throws: StoreFailure.unsafePermissions) { try SQLiteStore(path: directory.database) }
    unlink(directory.database)
    symlink(elsewhere.path + "/nothing", directory.database)
    #expect(throws: StoreFailure.unsafePermissions) { try SQLiteStore(path: directory.database) }
    #expect(elsewhere.names == ["store.db"])
  }

  @Test(arguments: ["-wal", "-shm", "-journal", "-reserve"])
  func aSymlinkBesideTheDatabaseIsRefused(suffix: String) throws {
    let elsewhere = PrivateDirectory()
    symlink(elsewhere.path + "/target", directory.database + suffix)
    #expect(throws: StoreFailure.unsafePermissions) { try SQLiteStore(path: directory.database) }
    #expect(elsewhere.names.isEmpty)
  }

  @Test func aHardLinkIsRefused() throws {
    let elsewhere = PrivateDirectory()
    try SQLiteStore(path: elsewhere.database).close()
    link(elsewhere.database, directory.database)
    #expect(throws: StoreFailure.unsafePermissions) { try SQLiteStore(path: directory.database) }
  }

  @Test func aSymlinkOnTheWayIsFine() throws {
    let home = PrivateDirectory()
    symlink(directory.path, home.path + "/state")
    let store = try SQLiteStore(path: home.path + "/state/store.db")
    try store.commit([.put(record(.alice, .grant, "token"))])
    #expect(directory.names.contains("store.db"))
  }

  @Test(arguments: [0o755, 0o710, 0o707] as [mode_t])
  func aDirectoryOpenToOthersIsRefused(mode: mode_t) {
    chmod(directory.path, mode)
    #expect(throws: StoreFailure.unsafePermissions) { try SQLiteStore(path: directory.database) }
    #expect(directory.names.isEmpty)
  }

  @Test(.enabled(if: geteuid() == 0, "giving a file away takes root"))
  func anotherUsersFileIsRefused() throws {
    try SQLiteStore(path: directory.database).close()
    chown(directory.database, 12_345, 12_345)
    #expect(throws: StoreFailure.unsafePermissions) { try SQLiteStore(path: directory.database) }
    unlink(directory.database)
    chown(directory.path, 12_345, 12_345)
    #expect(throws: StoreFailure.unsafePermissions) { try SQLiteStore(path: directory.database) }
  }

  @Test func withoutADirectoryThereIsNoStore() {
    for path in ["/missing/store.db", directory.path + "/", ""] {
      #expect(throws: StoreFailure.inputOutput) { try SQLiteStore(path: path) }
    }
    mkdir(directory.database, 0o700)
    #expect(throws: StoreFailure.unsafePermissions) { try SQLiteStore(path: directory.database) }
  }

  @Test func anOpenReaderKeepsTheLogFromBeingTruncated() throws {
    let store = try SQLiteStore(path: directory.database)
    try store.commit([.put(record(.alice, .grant, "token"))])
    var reader: OpaquePointer?
    try #require(sqlite3_open_v2(directory.database, &reader, SQLITE_OPEN_READONLY, nil) == SQLITE_OK)
    try #require(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM record;", nil, nil, nil) == SQLITE_OK)
    try store.commit([.deletePartition(.alice)])
    #expect(try store.truncateLog() == false)
    sqlite3_close(reader)
    #expect(try store.truncateLog())
    #expect(FileManager.default.contents(atPath: directory.database + "-wal")?.isEmpty == true)
  }

  @Test func anotherWriterMakesItBusy() throws {
    let store = try SQLiteStore(path: directory.database)
    var writer: OpaquePointer?
    try #require(sqlite3_open_v2(directory.database, &writer, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
    try #require(sqlite3_exec(writer, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK)
    #expect(throws: StoreFailure.busy) { try store.commit([.put(record(.alice, .grant, "token"))]) }
    sqlite3_close(writer)
    try store.commit([.put(record(.alice, .grant, "token"))])
  }

  @Test func aFileExchangedUnderTheStoreIsNotTakenForIt() throws {
    let store = try SQLiteStore(path: directory.database)
    let other = PrivateDirectory()
    let foreign = try SQLiteStore(path: other.database)
    #expect(store.databaseID != foreign.databaseID)
  }
}

/// A file system of 1 MiB of its own.
@Suite(.enabled(if: geteuid() == 0, "mounting takes root"), .serialized) final class FullDiskTests {
  let directory: PrivateDirectory
  let mounted: Bool

  init() {
    directory = PrivateDirectory()
    mounted = mount("tmpfs", directory.path, "tmpfs", 0, "size=1m,mode=700") == 0
  }

  deinit { if mounted { umount2(directory.path, Int32(MNT_DETACH)) } }

  /// Leaves so many bytes free.
  func fill(leaving free: Int) throws {
    let path = directory.path + "/filler"
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer { close(file) }
    let page = [UInt8](repeating: 1, count: 4096)
    while write(file, page, page.count) == page.count {}
    ftruncate(file, max(0, lseek(file, 0, SEEK_END) - off_t(free)))
  }

  @Test func aFullDiskIsTold() throws {
    try #require(mounted, "this sandbox allows no mount")
    let store = try SQLiteStore(path: directory.database)
    defer { store.close() }
    try store.commit([.put(record(.alice, .grant, "before"))])
    try fill(leaving: 0)
    #expect(throws: StoreFailure.full) { try store.checkWritable(bytes: 4_000) }
    let large = record(.alice, .grant, String(repeating: "x", count: 100_000))
    #expect(throws: StoreFailure.full) { try store.commit([.put(large)]) }
    #expect(try store.records(in: .alice) == [record(.alice, .grant, "before")])
    unlink(directory.path + "/filler")
    try store.commit([.put(large)])
    #expect(try store.records(in: .alice) == [large])
    #expect(try store.integrityProblems() == [])
  }

  @Test func whatWasCheckedCanBeWrittenOnADiskThatFilledUpSince() throws {
    try #require(mounted, "this sandbox allows no mount")
    let store = try SQLiteStore(path: directory.database)
    defer { store.close() }
    try store.commit([.put(record(.alice, .grant, "before"))])
    try store.checkWritable(bytes: 60_000)
    try fill(leaving: 0)
    try store.checkWritable(bytes: 60_000)
    let successor = record(.alice, .grant, generation: 2, String(repeating: "x", count: 60_000))
    try store.commit([.put(successor)])
    #expect(try store.record(successor.key) == successor)
    // Its room is spent: nothing new is begun.
    try fill(leaving: 0)
    #expect(throws: StoreFailure.full) { try store.checkWritable(bytes: 60_000) }
    unlink(directory.path + "/filler")
    try store.checkWritable(bytes: 60_000)
  }

  @Test func aDiskThatTurnedReadOnlyIsTold() throws {
    try #require(mounted, "this sandbox allows no mount")
    let store = try SQLiteStore(path: directory.database)
    try store.commit([.put(record(.alice, .grant, "before"))])
    try store.checkWritable(bytes: 1_000)
    store.close()
    let again = try SQLiteStore(path: directory.database)
    again.close()
    try #require(mount("tmpfs", directory.path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
    #expect(throws: StoreFailure.readOnly) { try SQLiteStore(path: directory.database) }
  }

  @Test func aFullDiskAtTheFirstStartIsTold() throws {
    try #require(mounted, "this sandbox allows no mount")
    try fill(leaving: 0)
    #expect(throws: StoreFailure.full) { try SQLiteStore(path: directory.database) }
    unlink(directory.path + "/filler")
    let store = try SQLiteStore(path: directory.database)
    try store.commit([.put(record(.alice, .grant, "after"))])
    store.close()
  }
}
