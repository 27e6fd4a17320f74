internal import CLanyardClient
#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Connects to the agent's socket.
struct AgentSocket: Sendable {
  let path: String

  /// What one try brought.
  enum Outcome {
    /// A socket that does not block. The process behind it runs as this user.
    case connected(Int32)
    /// The agent's queue is full.
    case busy
    /// No process listens.
    case absent(SystemError)
  }

  /// Tries once. No byte is sent before the peer's user is known: in a directory that others can write, another user
  /// may have bound the socket.
  func connect() throws(LanyardError) -> Outcome {
    let descriptor = lanyard_client_socket()
    guard descriptor >= 0 else { throw notRunning(SystemError()) }
    guard let failure = Self.connect(descriptor, to: path) else {
      do throws(LanyardError) {
        try Self.checkPeer(descriptor)
        return .connected(descriptor)
      } catch {
        close(descriptor)
        throw error
      }
    }
    close(descriptor)
    switch failure.number {
    case EAGAIN: return .busy
    case ENOENT, ECONNREFUSED, ENOTDIR: return .absent(failure)
    default: throw notRunning(failure)
    }
  }

  func notRunning(_ failure: SystemError) -> LanyardError {
    LanyardError(.agentNotRunning, "no agent answers at \(path): \(failure.message)")
  }

  private static func connect(_ descriptor: Int32, to path: String) -> SystemError? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let fits = withUnsafeMutableBytes(of: &address.sun_path) { place in
      guard bytes.count < place.count, !bytes.contains(0) else { return false }
      place.copyBytes(from: bytes)
      return true
    }
    guard fits else { return SystemError(ENAMETOOLONG) }
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        systemConnect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    return result == 0 ? nil : SystemError()
  }

  private static func checkPeer(_ descriptor: Int32) throws(LanyardError) {
    var user: uid_t = 0
    guard lanyard_client_peer_user(descriptor, &user) == 0, user == geteuid() else {
      throw LanyardError(.untrustedAgent, "the agent's socket belongs to another user")
    }
  }
}

private func systemConnect(_ socket: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
  connect(socket, address, size)
}
