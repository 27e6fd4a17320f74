public import AgentPorts
internal import CSQLite

/// `BackupFiles` beside an SQLite store, in its private directory.
///
/// The names are fixed, since each directory has one agent and each agent runs one backup at a time: the next start
/// finds the file that a crash left behind.
public struct StoreBackups: BackupFiles {
  private let path: String
  private let vfs: String?

  /// - Parameter path: of the live store. `vfs` as for `SQLiteStore`: on a simulated disk the person's file is in it
  /// too.
  public init(beside path: String, vfs: String? = nil) {
    self.path = path
    self.vfs = vfs
  }

  public var copyPath: String { path + "-copy" }
  private var draftPath: String { path + "-draft" }
  private var fetchedPath: String { path + "-fetched" }

  /// The files that SQLite and the store keep beside a database.
  private static let suffixes = ["", "-wal", "-shm", "-journal", "-reserve"]

  public func openCopy() throws(StoreFailure) -> any Store { try SQLiteStore(path: copyPath, vfs: vfs) }

  public func makeDraft() throws(StoreFailure) -> any Store { try SQLiteStore(path: draftPath, vfs: vfs) }

  public func checkTarget(_ path: String) throws(BackupFileFailure) {
    if let vfs { try SimulatedPlace.check(path, vfs) } else { try OutsideFile(path).checkFree() }
  }

  public func publish(to path: String) throws(BackupFileFailure) -> Int {
    if let vfs { return try SimulatedPlace.copy(draftPath, to: path, vfs) }
    return try OutsideFile(path).write(from: draftPath)
  }

  public func fetch(from path: String) throws(BackupFileFailure) -> any Store {
    if let vfs {
      try SimulatedPlace.checkIsStore(path, vfs)
      _ = try SimulatedPlace.copy(path, to: fetchedPath, vfs)
    } else {
      try OutsideFile(path).read(into: fetchedPath)
    }
    do {
      return try SQLiteStore(path: fetchedPath, vfs: vfs)
    } catch {
      throw .store(error)
    }
  }

  public func removeAll() {
    guard let system = sqlite3_vfs_find(vfs) else { return }
    for path in [copyPath, draftPath, fetchedPath] {
      for suffix in Self.suffixes {
        // Not refused earlier: SQLite takes an empty file for a new database.
        _ = system.pointee.xDelete(system, path + suffix, 0)
      }
    }
  }
}

/// The first bytes of every database of this agent (SQLite's file format, 1.3 "The Database Header").
enum StoreHeader {
  static let byteCount = 100

  static func isOurs(_ bytes: [UInt8]) -> Bool {
    guard bytes.count >= byteCount, bytes.starts(with: Array("SQLite format 3\0".utf8)) else { return false }
    return bytes[68..<72].reduce(0) { $0 << 8 | Int64($1) } == Connection.applicationID
  }
}
