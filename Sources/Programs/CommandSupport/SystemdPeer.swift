internal import CPlatform
internal import Glibc

/// The unit for which systemd connected: its end of the connection is bound to the abstract address
/// `RANDOM/unit/UNIT/CREDENTIAL`.
public struct SystemdPeer: Equatable {
  public let unit: String
  public let credential: String

  /// Nil for any other connection, and for one of another user.
  public init?(of socket: Int32) {
    var (pid, uid, gid): (pid_t, uid_t, gid_t) = (0, 0, 0)
    guard lanyard_peer_credentials(socket, &pid, &uid, &gid) == 0, uid == geteuid() else { return nil }
    // Any program can bind an address. One in a container, which may see this socket, is none of the session's units.
    let isInSession = Self.namespaces.allSatisfy { kind in
      Self.namespace(kind, of: "\(pid)").map { $0 == Self.namespace(kind, of: "self") } ?? false
    }
    guard isInSession else { return nil }
    var address = sockaddr_un()
    var length = socklen_t(MemoryLayout<sockaddr_un>.size)
    let isKnown = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(socket, $0, &length) == 0 }
    }
    let start = MemoryLayout<sockaddr_un>.offset(of: \sockaddr_un.sun_path)!
    guard isKnown, address.sun_family == sa_family_t(AF_UNIX), Int(length) > start + 1 else { return nil }
    let path = withUnsafeBytes(of: &address.sun_path) { Array($0.prefix(Int(length) - start)) }
    guard path[0] == 0 else { return nil }
    self.init(address: String(decoding: path.dropFirst(), as: UTF8.self))
  }

  private static let namespaces = ["user", "pid", "net"]

  /// Nil for a process that this one may not look at; then no other one is like it.
  private static func namespace(_ kind: String, of process: String) -> ino_t? {
    var information = stat()
    return stat("/proc/\(process)/ns/\(kind)", &information) == 0 ? information.st_ino : nil
  }

  init?(address: String) {
    let parts = address.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 4, !parts[0].isEmpty, parts[1] == "unit", !parts[2].isEmpty, !parts[3].isEmpty else {
      return nil
    }
    (unit, credential) = (String(parts[2]), String(parts[3]))
  }
}
