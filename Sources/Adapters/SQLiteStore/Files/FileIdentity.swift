internal import AgentPorts
internal import CPlatform

/// The files that a connection has open, to notice when other files or none stand in their place: SQLite goes on
/// writing to a deleted file, and nothing of it is there after a restart.
struct FileIdentities {
  private struct Identity: Equatable {
    var device: UInt64
    var inode: UInt64

    init?(_ path: String) {
      var found = lanyard_file_identity()
      guard lanyard_identify(path, &found) else { return nil }
      (device, inode) = (found.device, found.inode)
    }
  }

  private let expected: [(path: String, identity: Identity)]

  /// As they are now: of the database at `path`, and of its log once SQLite has made it.
  ///
  /// - Throws: `missing` if the database can't be looked at: it would not be noticed later that it is gone.
  init(path: String) throws(StoreFailure) {
    guard let database = Identity(path) else { throw .missing }
    let log = path + "-wal"
    expected = [(path, database)] + (Identity(log).map { [(log, $0)] } ?? [])
  }

  /// Throws `missing` if one of them was removed or replaced.
  func check() throws(StoreFailure) {
    for file in expected where Identity(file.path) != file.identity { throw .missing }
  }
}
