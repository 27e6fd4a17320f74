internal import AgentPorts
internal import Glibc

/// The files that a connection has open, to notice when other files or none stand in their place: SQLite goes on
/// writing to a deleted file, and nothing of it is there after a restart.
struct FileIdentities {
  private struct Identity: Equatable {
    var device: dev_t
    var inode: ino_t

    init?(_ path: String) {
      var status = stat()
      guard lstat(path, &status) == 0 else { return nil }
      (device, inode) = (status.st_dev, status.st_ino)
    }
  }

  private let expected: [(path: String, identity: Identity)]

  /// As they are now: of the database at `path`, and of its log once SQLite has made it.
  init(path: String) {
    expected = [path, path + "-wal"].compactMap { path in Identity(path).map { (path, $0) } }
  }

  /// Throws `missing` if one of them was removed or replaced.
  func check() throws(StoreFailure) {
    for file in expected where Identity(file.path) != file.identity { throw .missing }
  }
}
