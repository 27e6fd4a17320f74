import AgentPorts
import Foundation
import SQLiteStore
import Testing

/// Backup files on the real file system: drafting, publishing, fetching.
@Suite struct BackupFileTests {
  let directory = PrivateDirectory()
  let elsewhere = PrivateDirectory()
  var backups: StoreBackups { StoreBackups(beside: directory.database) }
  var target: String { elsewhere.database }

  func draft(_ text: String = "kept") throws {
    let draft = try backups.makeDraft()
    try draft.commit([.put(record(.alice, .grant, text))])
    #expect(try draft.eraseDeleted())
    draft.close()
  }

  @Test func publishedBackup_isCompleteAndPrivate() throws {
    let mask = umask(0)
    defer { umask(mask) }
    try draft()
    let count = try backups.publish(to: target)
    #expect(elsewhere.names == ["store.db"])
    #expect(elsewhere.mode("store.db") == 0o600)
    #expect(try Data(contentsOf: URL(filePath: target)).count == count)

    backups.removeAll()
    #expect(directory.names == [])
    let fetched = try backups.fetch(from: target)
    #expect(try fetched.records(in: .alice) == [record(.alice, .grant, "kept")])
    fetched.close()
    #expect(elsewhere.names == ["store.db"])
    backups.removeAll()
    #expect(directory.names == [])
  }

  @Test func backupTargetThatExists_isNeitherOverwrittenNorFollowed() throws {
    try draft()
    try Data("mine".utf8).write(to: URL(filePath: target))
    for check in [true, false] {
      #expect(throws: BackupFileFailure.exists) {
        if check { try backups.checkTarget(target) } else { _ = try backups.publish(to: target) }
      }
    }
    #expect(try Data(contentsOf: URL(filePath: target)) == Data("mine".utf8))
    let (link, dangling) = (elsewhere.path + "/link", elsewhere.path + "/dangling")
    symlink(target, link)
    symlink(elsewhere.path + "/nothing", dangling)
    for path in [link, dangling] {
      #expect(throws: BackupFileFailure.exists) { try backups.publish(to: path) }
      #expect(throws: BackupFileFailure.exists) { try backups.checkTarget(path) }
    }
    symlink(elsewhere.path, directory.path + "/away")
    #expect(throws: BackupFileFailure.noDirectory) { try backups.publish(to: directory.path + "/away/backup") }
    #expect(elsewhere.names == ["dangling", "link", "store.db"])
  }

  @Test func malformedBackupPath_isRefused() throws {
    try draft()
    for path in ["", "backup", "./backup", "/", elsewhere.path + "/", elsewhere.path + "/..", "/a\0b"] {
      #expect(throws: BackupFileFailure.noPath, "\(path)") { try backups.publish(to: path) }
    }
    #expect(throws: BackupFileFailure.noDirectory) { try backups.checkTarget(elsewhere.path + "/none/backup") }
    #expect(throws: BackupFileFailure.noPath) {
      try backups.publish(to: elsewhere.path + "/" + String(repeating: "x", count: 256))
    }
  }

  @Test func backupSourceOfAnotherKind_isRefused() throws {
    #expect(throws: BackupFileFailure.notFound) { _ = try backups.fetch(from: target) }
    #expect(throws: BackupFileFailure.notABackup) { _ = try backups.fetch(from: elsewhere.path) }
    let fifo = elsewhere.path + "/fifo"
    mkfifo(fifo, 0o600)
    #expect(throws: BackupFileFailure.notABackup) { _ = try backups.fetch(from: fifo) }
    for text in ["", "SQLite format 3\0", String(repeating: "SQLite format 3\0", count: 100)] {
      try Data(text.utf8).write(to: URL(filePath: target))
      #expect(throws: BackupFileFailure.notABackup) { _ = try backups.fetch(from: target) }
    }
    try draft()
    let (real, link) = (elsewhere.path + "/real", elsewhere.path + "/link")
    _ = try backups.publish(to: real)
    symlink(real, link)
    #expect(throws: BackupFileFailure.notABackup) { _ = try backups.fetch(from: link) }
    // Cut off after its header: it is a backup, and damaged.
    let whole = try Data(contentsOf: URL(filePath: real))
    try whole.prefix(5_000).write(to: URL(filePath: target))
    #expect(throws: BackupFileFailure.store(.corrupt)) { _ = try backups.fetch(from: target) }
    for behind in [Data([0]), Data(count: 4096), whole] {
      try (whole + behind).write(to: URL(filePath: target))
      #expect(throws: BackupFileFailure.store(.corrupt)) { _ = try backups.fetch(from: target) }
    }
    backups.removeAll()
    #expect(directory.names == [])
  }
}
