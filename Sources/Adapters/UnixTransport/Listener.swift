internal import AgentPorts
internal import CPlatform
internal import Glibc
internal import JSONRPC

/// The listening socket: accepts the clients of this user, one at a time.
struct Listener: ~Copyable {
  enum Arrival {
    /// `process` is the one that connected; nil if unknown.
    case client(Int32, process: Int32?)
    /// The client is gone again, was refused, or belongs to another user.
    case none
    /// No descriptor is left, not even to refuse a client.
    case noDescriptor
  }

  /// -1 without a listening socket.
  let descriptor: Int32
  private let owner = geteuid()
  /// A spare descriptor, closed to accept and refuse a client when no descriptor is left.
  private var spare = open("/dev/null", O_RDONLY | O_CLOEXEC)

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { if spare >= 0 { close(spare) } }

  /// Accepts one client; if more wait, the listener stays ready. A client that there is no descriptor for gets
  /// `refusal`.
  mutating func accept(refusal: @autoclosure () -> WireBytes) -> Arrival {
    let fd = lanyard_accept4(descriptor)
    guard fd >= 0 else {
      return -fd == EMFILE || -fd == ENFILE ? turnAway(refusal()) : .none
    }
    // Checks the peer's user id after every accept: the socket's mode is the first lock, this is the second.
    var (pid, uid, gid): (pid_t, uid_t, gid_t) = (0, 0, 0)
    guard lanyard_peer_credentials(fd, &pid, &uid, &gid) == 0, uid == owner else {
      close(fd)
      return .none
    }
    return .client(fd, process: pid > 0 ? pid : nil)
  }

  /// Accepts the waiting client on the spare descriptor just to refuse it: otherwise the listener would stay ready and
  /// the loop would never sleep.
  private mutating func turnAway(_ refusal: WireBytes) -> Arrival {
    if spare < 0 { spare = open("/dev/null", O_RDONLY | O_CLOEXEC) }
    guard spare >= 0 else { return .noDescriptor }
    close(spare)
    let refused = lanyard_accept4(descriptor)
    if refused >= 0 {
      withExtendedLifetime(refusal) {
        _ = refusal.withBytes { send(refused, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      }
      close(refused)
    }
    spare = open("/dev/null", O_RDONLY | O_CLOEXEC)
    return .none
  }
}
