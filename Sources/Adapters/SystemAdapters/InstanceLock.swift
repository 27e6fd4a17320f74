internal import CPlatform
public import FileRules
internal import Glibc

/// Allows one agent for each state directory: an exclusive lock on a file, held as long as this value and at most as
/// long as the process. The file stays when the lock is released, so that two agents can never lock two files of one
/// name.
///
/// The directory is locked too: removing the file under a running agent does not allow a second agent.
public struct InstanceLock: ~Copyable {
  private let descriptor: Int32
  private let directory: Int32
  private let socket: String?

  public enum Failure: Error, Sendable, Equatable {
    /// Another agent holds the lock; nil if the file does not tell which.
    case held(by: StateHolder?)
    /// A symlink, a file of another user, open to others, or not a regular file.
    case unsafe
    case unavailable(errno: Int32)
  }

  /// Takes the lock, or fails at once with the holder.
  ///
  /// - Parameter socket: Where this agent listens, for the error message of a second one.
  public init(path: String, servingAt socket: String? = nil) throws(Failure) {
    // Checks the name again after locking: if the file was removed or replaced meanwhile, a lock on the old file
    // excludes no other agent.
    for _ in 0..<10 {
      let file = try Self.open(path)
      let result = lanyard_lock_file(file)
      if result == -EAGAIN {
        let holder = StateHolder(in: file)
        close(file)
        throw .held(by: holder)
      }
      guard result == 0 else {
        close(file)
        throw .unavailable(errno: -result)
      }
      if lanyard_is_same_file(file, path) != 0 {
        guard let directory = Self.lockDirectory(of: path) else {
          close(file)
          throw .held(by: nil)
        }
        self.directory = directory
        self.socket = socket
        descriptor = file
        Self.sign(file, socket, isEnding: false)
        return
      }
      close(file)
    }
    throw .unavailable(errno: EAGAIN)
  }

  deinit {
    close(descriptor)
    close(directory)
  }

  /// Tells a second agent that this one is about to free the lock. It must not be called after the lock is free.
  public var tellEnding: @Sendable () -> Void {
    { [descriptor, socket] in Self.sign(descriptor, socket, isEnding: true) }
  }

  /// True while the path still names the locked file.
  public func isIntact(path: String) -> Bool { lanyard_is_same_file(descriptor, path) != 0 }

  /// The locked directory; -1 if the file system has no such locks; nil if another agent holds it.
  private static func lockDirectory(of path: String) -> Int32? {
    let end = path.lastIndex(of: "/")
    let name = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let directory = Glibc.open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { return -1 }
    guard lanyard_lock_directory(directory) == -EAGAIN else { return directory }
    close(directory)
    return nil
  }

  private static func open(_ path: String) throws(Failure) -> Int32 {
    let created = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    if created >= 0 { return created }
    guard errno == EEXIST else { throw .unavailable(errno: errno) }
    do throws(FileFault) {
      return try FileRule.madeFile.open(path, O_RDWR)
    } catch {
      switch error.code {
      case ELOOP, EPERM, EINVAL, ENXIO, EISDIR: throw .unsafe
      case let code: throw .unavailable(errno: code)
      }
    }
  }

  /// Writes the note for the error message of a second agent. The file is cut afterwards: a file that is cut to nothing has
  /// the file system free a block and take another.
  private static func sign(_ file: Int32, _ socket: String?, isEnding: Bool) {
    let text = StateHolder(processID: getpid(), socket: socket, isEnding: isEnding).note
    let isWritten = pwrite(file, text, text.utf8.count, 0) == text.utf8.count
    _ = ftruncate(file, isWritten ? text.utf8.count : 0)
  }
}
