internal import AgentPorts
internal import CPlatform
internal import FileRules
internal import Glibc

/// The database's files: in a directory of mode 0700, each of mode 0600, no symlinks.
struct PrivateFiles {
  /// The resolved path: SQLite refuses a path with a symlink anywhere in it, and a home directory may be one.
  let path: String

  /// The files that SQLite and the store keep beside the database.
  private static let suffixes = ["", "-wal", "-shm", "-journal", "-reserve", "-repeats"]

  /// Checks the directory and the existing files, and creates the database's file if it is missing.
  ///
  /// - Parameter mayCreate: false to throw `missing` where no database is, also where its file is too short for one.
  init(path: String, mayCreate: Bool = true) throws(StoreFailure) {
    let slash = path.lastIndex(of: "/")
    let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
    guard !name.isEmpty, name != ".", name != ".." else { throw .inputOutput }
    guard let resolved = realpath(parent, nil) else { throw !mayCreate && errno == ENOENT ? .missing : .inputOutput }
    defer { free(resolved) }
    let directory = lanyard_open_directory(resolved)
    guard directory >= 0 else { throw Self.failure(-directory) }
    defer { close(directory) }
    var status = stat()
    // First: a link is no missing database, wherever it leads, and neither is a pipe.
    for suffix in Self.suffixes where fstatat(directory, name + suffix, &status, AT_SYMLINK_NOFOLLOW) == 0 {
      switch status.st_mode & S_IFMT {
      case S_IFREG: break
      case S_IFLNK: throw .link(name + suffix)
      default: throw .noFile(name + suffix)
      }
    }
    // SQLite takes an empty file for a new database, and deletes the log beside it.
    if !mayCreate,
      fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0
        ? errno == ENOENT : status.st_size < StoreHeader.byteCount
    {
      throw .missing
    }
    guard (try? FileRule.privateDirectory.check(directory)) != nil else { throw .unsafePermissions }
    for suffix in Self.suffixes { try Self.secure(name + suffix, in: directory) }
    let created = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    if created >= 0 {
      // Exactly 0600 under every umask: the log and the index take their mode from this file.
      let result = fchmod(created, 0o600)
      close(created)
      guard result == 0 else { throw .unsafePermissions }
    } else if errno != EEXIST {
      throw Self.failure(errno)
    }
    self.path = String(cString: resolved) + "/" + name
  }

  /// Checks a file that the store opens later than its database.
  static func check(_ path: String) throws(StoreFailure) {
    guard let slash = path.lastIndex(of: "/") else { throw .inputOutput }
    let directory = lanyard_open_directory(String(path[..<slash]))
    guard directory >= 0 else { throw failure(-directory) }
    defer { close(directory) }
    try secure(String(path[path.index(after: slash)...]), in: directory)
  }

  /// Tightens a regular file of this user with one name to 0600; refuses everything else.
  private static func secure(_ name: String, in directory: Int32) throws(StoreFailure) {
    // Not opened for reading: closing an ordinary descriptor would drop the locks that this process holds on the file
    // (fcntl(2)).
    let file = lanyard_open_name(directory, name)
    if file == -ENOENT { return }
    guard file >= 0 else { throw failure(-file) }
    defer { close(file) }
    let status: stat
    do throws(FileFault) {
      status = try FileRule.anyOwnFile.check(file)
    } catch {
      switch error {
      case .link: throw .link(name)
      case .otherKind: throw .noFile(name)
      case .system, .foreignOwner, .openToOthers, .tooLarge: throw .unsafePermissions
      }
    }
    guard status.st_nlink == 1 else { throw .hardLinked(name) }
    if status.st_mode & 0o7777 != 0o600, chmod("/proc/self/fd/\(file)", 0o600) != 0 { throw .unsafePermissions }
  }

  private static func failure(_ error: Int32) -> StoreFailure {
    switch error {
    case ENOSPC, EDQUOT: .full
    case EROFS: .readOnly
    case EACCES, EPERM, ELOOP, ENOTDIR: .unsafePermissions
    default: .inputOutput
    }
  }
}
