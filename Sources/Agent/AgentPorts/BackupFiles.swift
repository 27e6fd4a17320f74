/// The files of a backup: three stores in a private directory beside the live store, and the backup file at a path that
/// the person chose.
///
/// Calls are synchronous and come from one actor, one at a time. The caller closes a returned store before its next
/// call.
public protocol BackupFiles: Sendable {
  /// The path for `Store.snapshot(to:)`.
  var copyPath: String { get }
  /// Opens the copy at `copyPath`.
  ///
  /// - Throws: `StoreFailure` if the copy is missing or can't be opened.
  func openCopy() throws(StoreFailure) -> any Store
  /// Creates an empty store with a new id, in which the backup is assembled.
  ///
  /// - Throws: `StoreFailure` if the store can't be created.
  func makeDraft() throws(StoreFailure) -> any Store
  /// Checks whether a backup could be written to `path`, without changing anything.
  ///
  /// - Throws: `BackupFileFailure` if `publish(to:)` would fail for a reason that is known beforehand.
  func checkTarget(_ path: String) throws(BackupFileFailure)
  /// Moves the draft to `path` with mode 0600 and returns its size in bytes. The file is complete and durable when this
  /// returns, and absent when it throws.
  ///
  /// - Throws: `BackupFileFailure`; `.exists` rather than replace a file or follow a symlink.
  func publish(to path: String) throws(BackupFileFailure) -> Int
  /// Opens a private copy of the backup at `path`; the backup itself is only read.
  ///
  /// - Throws: `BackupFileFailure` if the file is missing, unreadable or no backup.
  func fetch(from path: String) throws(BackupFileFailure) -> any Store
  /// Removes the copy, the draft and the fetched backup, including those of an earlier process.
  func removeAll()
}

/// Why a backup could not be written or read.
public enum BackupFileFailure: Error, Sendable, Equatable {
  /// The path is not absolute or has no file name.
  case noPath
  /// A file already exists at the path.
  case exists
  /// The directory does not exist, or is a symlink.
  case noDirectory
  /// There is no file at the path.
  case notFound
  /// The file is not a regular file, or was not written by this program.
  case notABackup
  /// The user has no permission for the file or its directory.
  case forbidden
  /// A store could not be opened, read or written.
  case store(StoreFailure)
}

/// A platform without backup files: every operation fails.
public struct NoBackupFiles: BackupFiles {
  public init() {}
  public var copyPath: String { "" }
  public func openCopy() throws(StoreFailure) -> any Store { throw .closed }
  public func makeDraft() throws(StoreFailure) -> any Store { throw .closed }
  public func checkTarget(_ path: String) throws(BackupFileFailure) { throw .store(.closed) }
  public func publish(to path: String) throws(BackupFileFailure) -> Int { throw .store(.closed) }
  public func fetch(from path: String) throws(BackupFileFailure) -> any Store { throw .store(.closed) }
  public func removeAll() {}
}
