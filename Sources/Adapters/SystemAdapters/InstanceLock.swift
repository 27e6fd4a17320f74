internal import CPlatform
internal import FileRules
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

  /// The agent that holds the lock, as the file tells it: a line for each property.
  public struct Holder: Sendable, Equatable {
    public let processID: Int32
    /// Nil for an agent that serves its standard input.
    public let socket: String?
    /// It serves no client any more, and waits for exchanges on their way.
    public let isEnding: Bool

    private static let ending = "ending"

    package init(processID: Int32, socket: String?, isEnding: Bool = false) {
      (self.processID, self.socket, self.isEnding) = (processID, socket, isEnding)
    }

    /// Nil if the note does not tell a process. A line that does not end was being written, and is ignored.
    package init?(note: String) {
      let lines = note.split(separator: "\n", omittingEmptySubsequences: false)
      guard let processID = Int32(lines[0]) else { return nil }
      let others = lines.dropFirst().dropLast()
      self.init(
        processID: processID, socket: others.first { $0.hasPrefix("/") }.map(String.init),
        isEnding: others.contains { $0 == Self.ending })
    }

    package var note: String {
      ["\(processID)", socket, isEnding ? Self.ending : nil].compactMap { $0.map { "\($0)\n" } }.joined()
    }
  }

  public enum Failure: Error, Sendable, Equatable {
    /// Another agent holds the lock; nil if the file does not tell which.
    case held(by: Holder?)
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
        let holder = Self.holder(file)
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
    let text = Holder(processID: getpid(), socket: socket, isEnding: isEnding).note
    let isWritten = pwrite(file, text, text.utf8.count, 0) == text.utf8.count
    _ = ftruncate(file, isWritten ? text.utf8.count : 0)
  }

  private static func holder(_ file: Int32) -> Holder? {
    var bytes = [UInt8](repeating: 0, count: longestNote)
    let count = pread(file, &bytes, bytes.count, 0)
    return count > 0 ? Holder(note: String(decoding: bytes[..<count], as: UTF8.self)) : nil
  }

  /// A process id, the path of a unix socket and a word, in bytes.
  private static let longestNote = 256
}
