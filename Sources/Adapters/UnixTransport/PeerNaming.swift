internal import AgentCore
internal import CPlatform
internal import Glibc

/// Looks up the name of the program at the other end of a socket.
public protocol PeerNaming: Sendable {
  /// Nil if the name is unknown or not printable.
  func name(ofPeerAt socket: Int32) -> String?
}

/// The kernel's name of the process that connected (proc(5), /proc/PID/comm). The process may have chosen it, and
/// another process may have its id by now: it is shown to people only, and decides nothing.
public struct ProcessNames: PeerNaming {
  public init() {}

  public func name(ofPeerAt socket: Int32) -> String? {
    var (pid, uid, gid): (pid_t, uid_t, gid_t) = (0, 0, 0)
    guard lanyard_peer_credentials(socket, &pid, &uid, &gid) == 0, pid > 0 else { return nil }
    let file = open("/proc/\(pid)/comm", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    // TASK_COMM_LEN, with its newline, and room for a kernel with longer names.
    let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      count = max(0, read(file, buffer.baseAddress, buffer.count))
    }
    return DisplayName.shown(bytes)
  }
}
