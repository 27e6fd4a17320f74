internal import CPlatform
internal import FileRules
internal import Glibc

/// A directory of mode 0700 of this user: for the state, the socket, the anchors.
///
/// Checked through a descriptor that never followed a symlink, so that the checked directory is the used one.
public struct PrivateDirectory: Sendable {
  /// Without a trailing slash.
  public let path: String

  /// Why a directory is refused. Each ends the agent with 73 (can't create, or unsafe).
  public enum Failure: Error, Sendable, Equatable {
    case cannotCreate(errno: Int32)
    case notADirectory
    case symlink
    /// It belongs to another user.
    case foreignOwner
    /// Others may read, write or enter it.
    case openToOthers(mode: UInt32)
  }

  /// Opens the directory, or creates it and its missing parents, each with mode 0700.
  public init(path: String) throws(Failure) {
    var path = path[...]
    // A trailing slash would make open(2) follow a symlink.
    while path.count > 1, path.last == "/" { path = path.dropLast() }
    guard !path.isEmpty else { throw .cannotCreate(errno: ENOENT) }
    self.path = String(path)
    let error = makeDirectories(self.path)
    guard error == 0 else { throw .cannotCreate(errno: error) }
    try check()
  }

  /// Repeats the checks on what the path names now.
  public func check() throws(Failure) {
    let directory = lanyard_open_directory(path)
    guard directory >= 0 else { throw failure(-directory) }
    defer { close(directory) }
    do throws(FileFault) {
      // The owner's own permissions may be missing: then nothing in it could be created.
      if try FileRule.privateDirectory.check(directory).st_mode & 0o700 == 0o700 { return }
    } catch {
      switch error {
      case .foreignOwner: throw .foreignOwner
      case .openToOthers(let mode): throw .openToOthers(mode: mode)
      case .system(let error): throw .cannotCreate(errno: error)
      case .link, .otherKind, .tooLarge: throw .notADirectory
      }
    }
    throw .cannotCreate(errno: EACCES)
  }

  private func failure(_ error: Int32) -> Failure {
    guard error == ENOTDIR || error == ELOOP else { return .cannotCreate(errno: error) }
    // With O_PATH|O_NOFOLLOW|O_DIRECTORY a symlink fails with ENOTDIR too: lstat shows which of the two it is.
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK ? .symlink : .notADirectory
  }
}
