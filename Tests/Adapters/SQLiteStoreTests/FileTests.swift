import AgentPorts
import CSQLite
import Foundation
import SQLiteStore
import Testing

/// The store on the real file system.
@Suite struct FileTests {
  let directory = PrivateDirectory()

  /// In a process of its own, since the umask belongs to all threads.
  @Test func storeFiles_arePrivateUnderAnyUmask() async {
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

  @Test func checkpointedCommit_isInTheDatabaseFileAlone() throws {
    let copies = PrivateDirectory()
    let store = try SQLiteStore(path: directory.database)
    for (number, isThere) in [(1, false), (2, true)] {
      if isThere { store.checkpoint() } else { try store.commit([.put(record(.alice, .grant, "token"))]) }
      let copy = copies.path + "/copy-\(number)"
      try FileManager.default.copyItem(atPath: directory.database, toPath: copy)
      let alone = try SQLiteStore(path: copy)
      #expect(try alone.records(in: .alice).isEmpty == !isThere)
      alone.close()
    }
    #expect(try store.records(in: .alice) == [record(.alice, .grant, "token")])
    try store.commit([.put(record(.bob, .grant, "later"))])
    #expect(try store.partitions() == [.alice, .bob])
  }

  @Test func storeFileOpenToOthers_isMadePrivateAgain() throws {
    try SQLiteStore(path: directory.database).close()
    chmod(directory.database, 0o666)
    let store = try SQLiteStore(path: directory.database)
    try store.commit([.put(record(.alice, .grant, "token"))])
    for name in directory.names { #expect(directory.mode(name) == 0o600, "\(name)") }
  }

  @Test func symlinkedDatabase_isRefused() throws {
    let elsewhere = PrivateDirectory()
    try SQLiteStore(path: elsewhere.database).close()
    symlink(elsewhere.database, directory.database)
    for mayCreate in [true, false] {
      #expect(throws: StoreFailure.link("store.db")) {
        try SQLiteStore(path: directory.database, mayCreate: mayCreate)
      }
    }
    unlink(directory.database)
    symlink(elsewhere.path + "/nothing", directory.database)
    for mayCreate in [true, false] {
      #expect(throws: StoreFailure.link("store.db")) {
        try SQLiteStore(path: directory.database, mayCreate: mayCreate)
      }
    }
    #expect(elsewhere.names == ["store.db"])
  }

  @Test(arguments: ["-wal", "-shm", "-journal", "-reserve"])
  func symlinkBesideTheDatabase_isRefused(suffix: String) throws {
    let elsewhere = PrivateDirectory()
    symlink(elsewhere.path + "/target", directory.database + suffix)
    #expect(throws: StoreFailure.link("store.db" + suffix)) { try SQLiteStore(path: directory.database) }
    #expect(elsewhere.names.isEmpty)
  }

  @Test func hardLinkedDatabase_isRefused() throws {
    let elsewhere = PrivateDirectory()
    try SQLiteStore(path: elsewhere.database).close()
    link(elsewhere.database, directory.database)
    #expect(throws: StoreFailure.hardLinked("store.db")) { try SQLiteStore(path: directory.database) }
  }

  @Test func symlinkInTheDirectoryPath_isAccepted() throws {
    let home = PrivateDirectory()
    symlink(directory.path, home.path + "/state")
    let store = try SQLiteStore(path: home.path + "/state/store.db")
    try store.commit([.put(record(.alice, .grant, "token"))])
    #expect(directory.names.contains("store.db"))
  }

  @Test(arguments: [0o755, 0o710, 0o707] as [mode_t])
  func storeDirectoryOpenToOthers_isRefused(mode: mode_t) {
    chmod(directory.path, mode)
    #expect(throws: StoreFailure.unsafePermissions) { try SQLiteStore(path: directory.database) }
    #expect(directory.names.isEmpty)
  }

  @Test(.enabled(if: geteuid() == 0, "giving a file away takes root"))
  func storeFileOfAnotherUser_isRefused() throws {
    try SQLiteStore(path: directory.database).close()
    chown(directory.database, 12_345, 12_345)
    #expect(throws: StoreFailure.unsafePermissions) { try SQLiteStore(path: directory.database) }
    unlink(directory.database)
    chown(directory.path, 12_345, 12_345)
    #expect(throws: StoreFailure.unsafePermissions) { try SQLiteStore(path: directory.database) }
  }

  @Test func storePathWithoutADirectory_fails() {
    for path in ["/missing/store.db", directory.path + "/", ""] {
      #expect(throws: StoreFailure.inputOutput) { try SQLiteStore(path: path) }
    }
  }

  @Test(arguments: ["", "-wal", "-shm", "-journal", "-reserve"], [true, false])
  func directoryOrPipeInPlaceOfAFile_isToldAsOne(suffix: String, isPipe: Bool) throws {
    let path = directory.database + suffix
    #expect((isPipe ? mkfifo(path, 0o600) : mkdir(path, 0o700)) == 0)
    for mayCreate in [true, false] {
      #expect(throws: StoreFailure.noFile("store.db" + suffix)) {
        try SQLiteStore(path: directory.database, mayCreate: mayCreate)
      }
    }
    #expect(directory.names == ["store.db" + suffix])
  }

  @Test func openReader_preventsTruncatingTheLog() throws {
    let store = try SQLiteStore(path: directory.database)
    try store.commit([.put(record(.alice, .grant, "token"))])
    var reader: OpaquePointer?
    try #require(sqlite3_open_v2(directory.database, &reader, SQLITE_OPEN_READONLY, nil) == SQLITE_OK)
    try #require(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM record;", nil, nil, nil) == SQLITE_OK)
    try store.commit([.deletePartition(.alice)])
    #expect(try store.eraseDeleted() == false)
    sqlite3_close(reader)
    #expect(try store.eraseDeleted())
    #expect(FileManager.default.contents(atPath: directory.database + "-wal")?.isEmpty == true)
  }

  @Test func lockedDatabase_isReportedAsBusy() throws {
    let store = try SQLiteStore(path: directory.database)
    var writer: OpaquePointer?
    try #require(sqlite3_open_v2(directory.database, &writer, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
    try #require(sqlite3_exec(writer, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK)
    #expect(throws: StoreFailure.busy) { try store.commit([.put(record(.alice, .grant, "token"))]) }
    sqlite3_close(writer)
    try store.commit([.put(record(.alice, .grant, "token"))])
  }

  @Test func storeFiles_haveDistinctDatabaseIDs() throws {
    let store = try SQLiteStore(path: directory.database)
    let other = PrivateDirectory()
    let foreign = try SQLiteStore(path: other.database)
    #expect(store.databaseID != foreign.databaseID)
  }
}

/// A separate file system of 1 MiB.
@Suite(.enabled(if: geteuid() == 0, "mounting takes root"), .serialized) final class FullDiskTests {
  let directory: PrivateDirectory
  let mounted: Bool

  init() {
    directory = PrivateDirectory()
    mounted = mount("tmpfs", directory.path, "tmpfs", 0, "size=1m,mode=700") == 0
  }

  deinit { if mounted { umount2(directory.path, Int32(MNT_DETACH)) } }

  /// Leaves `free` bytes on the file system.
  func fill(leaving free: Int) throws {
    let path = directory.path + "/filler"
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer { close(file) }
    let page = [UInt8](repeating: 1, count: 4096)
    while write(file, page, page.count) == page.count {}
    ftruncate(file, max(0, lseek(file, 0, SEEK_END) - off_t(free)))
  }

  @Test func fullDisk_failsTheCheckAndTheCommit() throws {
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

  @Test func checkedBatch_canBeWrittenAfterTheDiskFilledUp() throws {
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
    // The reserve is used up: no new batch begins.
    try fill(leaving: 0)
    #expect(throws: StoreFailure.full) { try store.checkWritable(bytes: 60_000) }
    unlink(directory.path + "/filler")
    try store.checkWritable(bytes: 60_000)
  }

  @Test func diskRemountedReadOnly_failsTheCheckAndTheCommit() throws {
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

  @Test func fullDiskAtTheFirstStart_failsToOpen() throws {
    try #require(mounted, "this sandbox allows no mount")
    try fill(leaving: 0)
    #expect(throws: StoreFailure.full) { try SQLiteStore(path: directory.database) }
    unlink(directory.path + "/filler")
    let store = try SQLiteStore(path: directory.database)
    try store.commit([.put(record(.alice, .grant, "after"))])
    store.close()
  }
}
