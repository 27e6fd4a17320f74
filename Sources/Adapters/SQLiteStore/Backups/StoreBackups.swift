public import AgentPorts
internal import CSQLite
internal import Glibc

/// `BackupFiles` beside an SQLite store, in its private directory.
///
/// The names are fixed, since each directory has one agent and each agent runs one backup at a time: the next start
/// finds the file that a crash left behind.
public struct StoreBackups: BackupFiles {
  private let path: String
  private let vfs: String?
  private let outside: any OutsideFiles

  /// - Parameters:
  ///   - path: of the live store.
  ///   - vfs: as for `SQLiteStore`. On a simulated disk the person's file is in it too.
  ///   - outside: where the person's file is.
  public init(beside path: String, vfs: String? = nil, outside: any OutsideFiles = DirectFiles()) {
    self.path = path
    self.vfs = vfs
    self.outside = outside
  }

  public var copyPath: String { path + "-copy" }
  private var draftPath: String { path + "-draft" }
  private var fetchedPath: String { path + "-fetched" }

  /// The files that SQLite and the store keep beside a database.
  private static let suffixes = ["", "-wal", "-shm", "-journal", "-reserve"]

  public func openCopy() throws(StoreFailure) -> any Store { try SQLiteStore(path: copyPath, vfs: vfs) }

  public func makeDraft() throws(StoreFailure) -> any Store { try SQLiteStore(path: draftPath, vfs: vfs) }

  public func checkTarget(_ path: String) throws(BackupFileFailure) {
    if let vfs { try SimulatedPlace.check(path, vfs) } else { try outside.check(path) }
  }

  public func publish(to path: String) throws(BackupFileFailure) -> Int {
    if let vfs { return try SimulatedPlace.copy(draftPath, to: path, vfs) }
    let draft = open(draftPath, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard draft >= 0 else { throw .store(.inputOutput) }
    defer { close(draft) }
    return try outside.write(draft, to: path)
  }

  public func fetch(from path: String) throws(BackupFileFailure) -> any Store {
    if let vfs {
      try SimulatedPlace.checkIsStore(path, vfs)
      _ = try SimulatedPlace.copy(path, to: fetchedPath, vfs)
    } else {
      let file = try outside.open(path)
      defer { close(file) }
      try OutsideFile.copy(file, into: fetchedPath)
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
