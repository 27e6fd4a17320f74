/// The files that a backup passes through: three stores beside the live one, where nobody else can reach them, and the
/// one file that the person named, outside.
///
/// Calls are synchronous and made by one actor, one after another. A store that is handed out must be closed before the
/// next call.
public protocol BackupFiles: Sendable {
  /// Where `Store.snapshot(to:)` puts the copy.
  var copyPath: String { get }
  /// The copy that stands at `copyPath`.
  func openCopy() throws(StoreFailure) -> any Store
  /// A new store with an id of its own, in which a backup is put together.
  func makeDraft() throws(StoreFailure) -> any Store
  /// Could a backup be put there, as far as that can be told before? Nothing is touched.
  func checkTarget(_ path: String) throws(BackupFileFailure)
  /// Puts the draft at `path`, with mode 0600: whole and durable when this returns, or not there at all. Never in the
  /// place of something else, and never through a symlink. How many bytes it has.
  func publish(to path: String) throws(BackupFileFailure) -> Int
  /// Opens a private copy of the backup at `path`; the file itself is only read.
  func fetch(from path: String) throws(BackupFileFailure) -> any Store
  /// Removes the copy, the draft and what was fetched, also those that an earlier process left behind.
  func removeAll()
}

public enum BackupFileFailure: Error, Sendable, Equatable {
  /// Not absolute, or without a name at its end.
  case noPath
  /// Something stands there already.
  case exists
  /// There is no directory to put it into, or a symlink stands in its place.
  case noDirectory
  /// Nothing stands there.
  case notFound
  /// No plain file, or none that this program wrote.
  case notABackup
  /// This user may not read or write there.
  case forbidden
  case store(StoreFailure)
}

/// A machine without a place for backups.
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
