package import AgentModel
internal import CPlatform
internal import Glibc

/// A file that a process must not outlive: its program, or the agent's socket. One thread uses it.
///
/// An upgrade puts another program in the place of the old one; a removal leaves none, and no installer of wheels tells the
/// program so. The socket's directory is removed at the last logout of a person, and a tidy-up may remove the socket: an
/// agent that no client can reach would hold its state until a person ends it.
package final class WatchedFile {
  /// An upgrade removes the old file before the new one is there.
  package static let longestUpgrade = Milliseconds.seconds(30)
  /// Enough for a rename back. Commands that find no socket meanwhile try for longer than that.
  package static let longestWithoutSocket = Milliseconds.seconds(2)

  private let path: String
  private let patience: Milliseconds
  /// The only file that counts; nil: any file of this name.
  private let identity: FileIdentity?
  /// Negative while there is no file, or where none can be watched.
  private var watch: Int32
  /// When the file is gone for good; nil while it is there.
  package private(set) var deadline: BootInstant?

  private init?(path: String, patience: Milliseconds, identity: FileIdentity?) {
    (self.path, self.patience, self.identity) = (path, patience, identity)
    watch = lanyard_watch_file(path)
    if watch < 0 { return nil }
  }

  deinit { if watch >= 0 { close(watch) } }

  /// Nil if it can't be watched.
  package static func program(path: String) -> WatchedFile? {
    WatchedFile(path: path, patience: longestUpgrade, identity: nil)
  }

  /// The program of this process; nil if it is not known, or gone.
  package static func programOfThisProcess() -> WatchedFile? { linkToProgram.flatMap(program(path:)) }

  /// The program of this process was removed, and none has its place.
  package static var programOfThisProcessIsGone: Bool { linkToProgram.map(isGone(program:)) ?? false }

  /// - Parameter link: what `/proc/PID/exe` leads to: the kernel puts a word after the name of a removed or replaced file.
  package static func isGone(program link: String) -> Bool {
    let removed = " (deleted)"
    return link.hasSuffix(removed) && access(link, F_OK) != 0
      && access(String(link.dropLast(removed.count)), F_OK) != 0
  }

  private static var linkToProgram: String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &bytes, bytes.count)
    guard count > 0, count < bytes.count else { return nil }
    return String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// The socket that has this name now: a later one is another agent's. Nil if it can't be watched.
  package static func socket(path: String) -> WatchedFile? {
    guard let identity = FileIdentity(path: path) else { return nil }
    return WatchedFile(path: path, patience: longestWithoutSocket, identity: identity)
  }

  /// Readable after a change; negative: to be looked at by `deadline` alone.
  package var descriptor: Int32 { watch }

  /// Looks at the file after a change or at the deadline. Returns true once it is gone for good.
  package func look(at now: BootInstant) -> Bool {
    if watch >= 0 { close(watch) }
    // The file that is there now, which may be another.
    watch = lanyard_watch_file(path)
    let isMissing = watch == -ENOENT || watch == -ENOTDIR
    guard isMissing || identity.map({ $0 != FileIdentity(path: path) }) ?? false else {
      deadline = nil
      return false
    }
    let end = deadline ?? now + patience
    deadline = end
    return now >= end
  }

  /// Returns once the file is gone for good. The thread sleeps while the file is untouched.
  func waitUntilGone() {
    while true {
      let now = BootInstant(milliseconds: lanyard_boot_milliseconds())
      if look(at: now) { return }
      // poll(2) ignores a negative descriptor
      var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      poll(&watched, 1, deadline.map { Int32(max(0, ($0 - now).count)) } ?? -1)
    }
  }
}

/// Tells a file from another one that has its name later, while the first is still open.
package struct FileIdentity: Equatable {
  private let device: dev_t
  private let inode: ino_t

  /// Nil without a file there. A symlink is not followed.
  package init?(path: String) {
    var information = stat()
    guard lstat(path, &information) == 0 else { return nil }
    (device, inode) = (information.st_dev, information.st_ino)
  }
}
