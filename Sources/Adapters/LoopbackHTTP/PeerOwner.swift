import Glibc

/// The users whose connections a listener takes.
public enum AdmittedPeers: Sendable {
  case everyUser
  /// This process's user and root. `onForeign` is called for each connection that is refused, on the accepting thread.
  case thisUserAndRoot(onForeign: @Sendable () -> Void)
  /// This process's user alone. `onForeign` as above.
  case thisUser(onForeign: @Sendable () -> Void)

  var onForeign: (@Sendable () -> Void)? {
    switch self {
    case .everyUser: nil
    case .thisUserAndRoot(let onForeign), .thisUser(let onForeign): onForeign
    }
  }

  /// Whether a process of the user `own` reads a connection of `uid`; nil if it is not known whose that is.
  package func admits(_ uid: UInt32?, own: UInt32) -> Bool {
    switch self {
    case .everyUser: true
    case .thisUserAndRoot: uid == own || uid == 0
    case .thisUser: uid == own
    }
  }
}

/// The user who holds the other end of a loopback connection. Every user of the machine can connect to a loopback port,
/// and TCP has no SO_PEERCRED: the kernel's table of sockets says whose the other end is (proc_pid_net(5), tcp).
public enum PeerOwner {
  /// True if this process's user or root holds the other end. False also if the table does not tell.
  public static func isThisUser(_ connection: Int32) -> Bool {
    guard let uid = uid(of: connection) else { return false }
    return uid == geteuid() || uid == 0
  }

  /// The user who holds the other end; nil if the table does not tell.
  static func uid(of connection: Int32) -> uid_t? {
    guard let names = names(of: connection) else { return nil }
    // The table changes while it is read, and a row may be missed.
    for _ in 0..<3 {
      for (file, row) in names {
        switch owner(row, in: file) {
        case .user(let uid): return uid
        case .closed: return nil
        case .missing: continue
        }
      }
    }
    return nil
  }

  /// The files that may list the other end, and the start of its row there. A socket of IPv6 can be connected to an
  /// address of IPv4.
  private static func names(of connection: Int32) -> [(file: String, row: String)]? {
    guard let peer = Endpoint(of: connection, by: getpeername), let own = Endpoint(of: connection, by: getsockname)
    else { return nil }
    let (tcp, tcp6) = ("/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6")
    guard !peer.isIPv6 else { return [(tcp6, "\(peer.text) \(own.text) ")] }
    return [(tcp, "\(peer.text) \(own.text) "), (tcp6, "\(peer.mapped) \(own.mapped) ")]
  }

  private enum Owner {
    case user(uid_t)
    /// Its process has closed the socket: it has no inode, and the table gives it to root.
    case closed
    case missing
  }

  /// The owner of the socket whose row begins so.
  private static func owner(_ start: String, in file: String) -> Owner {
    guard let table = fopen(file, "re") else { return .missing }
    defer { fclose(table) }
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(line) }
    while getline(&line, &capacity, table) > 0, let text = line {
      guard strstr(text, start) != nil else { continue }
      // sl, local, remote, state, queues, timer, retransmissions, uid, timeout, inode.
      let columns = String(cString: text).split(separator: " ")
      guard columns.count > 9, "\(columns[1]) \(columns[2]) " == start else { continue }
      guard columns[9] != "0", let uid = uid_t(columns[7]) else { return .closed }
      return .user(uid)
    }
    return .missing
  }

  /// An address and a port, as the table writes them.
  private struct Endpoint {
    let text: String
    let isIPv6: Bool

    var mapped: String { "0000000000000000FFFF0000" + text }

    init?(
      of connection: Int32, by name: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) {
      var storage = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let found = withUnsafeMutablePointer(to: &storage) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(connection, $0, &length) }
      }
      guard found == 0 else { return nil }
      let isIPv6 = storage.ss_family == sa_family_t(AF_INET6)
      self.isIPv6 = isIPv6
      text = withUnsafeBytes(of: &storage) { bytes in
        // `sin_port` and `sin6_port` have the same offset; the words of the address are written as they lie in memory.
        let port = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        let words =
          isIPv6
          ? (0..<4).map { bytes.loadUnaligned(fromByteOffset: 8 + 4 * $0, as: UInt32.self) }
          : [bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)]
        return words.map { Self.hexadecimal($0, digits: 8) }.joined() + ":" + Self.hexadecimal(port, digits: 4)
      }
    }

    private static func hexadecimal(_ number: some BinaryInteger, digits: Int) -> String {
      let text = String(number, radix: 16, uppercase: true)
      return String(repeating: "0", count: digits - text.utf8.count) + text
    }
  }
}
