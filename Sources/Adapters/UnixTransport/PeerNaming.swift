internal import AgentCore
internal import CPlatform
internal import Glibc

/// Looks up the program at the other end of a socket.
public protocol PeerNaming: Sendable {
  /// Nil if the name is unknown or not printable.
  func name(ofPeerAt socket: Int32) -> String?
  /// True if the program is the command line beside this one.
  func isOwnersCommandLine(peerAt socket: Int32) -> Bool
}

extension PeerNaming {
  public func isOwnersCommandLine(peerAt socket: Int32) -> Bool { false }
}

/// The kernel's name of the process that connected (proc(5), /proc/PID/comm). The process may have chosen it, and
/// another process may have its id by now: it is shown to people only, and decides nothing.
public struct ProcessNames: PeerNaming {
  /// The command line's programs.
  private static let commandLine = ["lanyard", "lanyard-cli"]

  private let isCommandLine: @Sendable (Int32) -> Bool

  /// - Parameter isCommandLine: the comparison of files, where this process itself may not look at others' (Landlock).
  public init(isCommandLine: @escaping @Sendable (Int32) -> Bool = { ProcessNames.isOwnersCommandLine($0) }) {
    self.isCommandLine = isCommandLine
  }

  public func name(ofPeerAt socket: Int32) -> String? {
    guard let pid = Self.process(ofPeerAt: socket) else { return nil }
    let file = open("/proc/\(pid)/comm", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    // TASK_COMM_LEN, with its newline, and room for a kernel with longer names.
    let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      count = max(0, read(file, buffer.baseAddress, buffer.count))
    }
    return Self.shown(bytes)
  }

  /// The name of a process as people know the program: some commands of `lanyard` run in another file than others.
  package static func shown(_ name: [UInt8]) -> String? {
    DisplayName.shown(name).map { commandLine.contains($0) ? commandLine[0] : $0 }
  }

  /// Compares the files of the programs, and not their names. A program of the same user that runs `lanyard` gets what a
  /// person at a terminal gets: a place.
  public func isOwnersCommandLine(peerAt socket: Int32) -> Bool {
    Self.process(ofPeerAt: socket).map(isCommandLine) ?? false
  }

  public static func isOwnersCommandLine(_ pid: Int32) -> Bool {
    guard let program = file("/proc/\(pid)/exe"), let directory = ownDirectory else { return false }
    return commandLine.contains { name in
      file("\(directory)/\(name)").map { $0.device == program.device && $0.inode == program.inode } ?? false
    }
  }

  static func process(ofPeerAt socket: Int32) -> pid_t? {
    var (pid, uid, gid): (pid_t, uid_t, gid_t) = (0, 0, 0)
    guard lanyard_peer_credentials(socket, &pid, &uid, &gid) == 0, pid > 0 else { return nil }
    return pid
  }

  /// The identity of a file.
  private static func file(_ path: String) -> (device: dev_t, inode: ino_t)? {
    var status = stat()
    return stat(path, &status) == 0 ? (status.st_dev, status.st_ino) : nil
  }

  private static var ownDirectory: String? {
    let capacity = Int(PATH_MAX)
    let path = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
      count = max(0, buffer.withMemoryRebound(to: CChar.self) { readlink("/proc/self/exe", $0.baseAddress!, capacity) })
    }
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    return String(decoding: path[..<slash], as: UTF8.self)
  }
}
