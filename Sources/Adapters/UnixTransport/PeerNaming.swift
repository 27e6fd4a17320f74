internal import AgentCore
internal import CPlatform
internal import Glibc

/// How the program at the other end of a socket is called.
public protocol PeerNaming: Sendable {
  /// Nil if that can't be told, or is nothing that could be shown.
  func name(ofPeerAt socket: Int32) -> String?
}

/// As the kernel calls the process that connected (proc(5), /proc/PID/comm). The process may have chosen the name, and
/// another one may have its id by now: it is shown to people, beside what happened, and decides nothing.
public struct ProcessNames: PeerNaming {
  public init() {}

  public func name(ofPeerAt socket: Int32) -> String? {
    var (pid, uid, gid): (pid_t, uid_t, gid_t) = (0, 0, 0)
    guard lanyard_peer_credentials(socket, &pid, &uid, &gid) == 0, pid > 0 else { return nil }
    let file = open("/proc/\(pid)/comm", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    // TASK_COMM_LEN, with its newline, and room for a kernel that has longer ones.
    let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      count = max(0, read(file, buffer.baseAddress, buffer.count))
    }
    return DisplayName.shown(bytes)
  }
}
