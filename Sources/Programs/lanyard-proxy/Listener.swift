import CPlatform
import CommandSupport
import FileRules
import Glibc
import LoopbackHTTP
import ProxyCore
import Threads

/// Accepts connections at a loopback port or a unix socket.
final class Listener: Sendable {
  enum Place: Sendable {
    case port(UInt16)
    case socket(String)
    /// A port inside the sandbox of one command.
    case sandbox
  }

  let descriptor: Int32
  let place: Place

  init(_ descriptor: Int32, _ place: Place) {
    self.descriptor = descriptor
    self.place = place
  }

  private static let backlog: Int32 = 128

  /// Listens at 127.0.0.1; `port` 0 takes any that is free.
  static func port(_ port: UInt16) throws(CommandFailure) -> Listener {
    let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let descriptor = Glibc.socket(AF_INET, Int32(kind), 0)
    guard descriptor >= 0 else { throw failure("No socket could be made", errno) }
    var (yes, address): (Int32, sockaddr_in) = (1, sockaddr_in())
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        if bind(descriptor, address, length) != 0 || listen(descriptor, backlog) != 0 { return errno }
        return getsockname(descriptor, address, &length) == 0 ? 0 : errno
      }
    }
    guard result == 0 else {
      close(descriptor)
      throw failure("Port \(port) of 127.0.0.1 can't be used", result)
    }
    return Listener(descriptor, .port(UInt16(bigEndian: address.sin_port)))
  }

  /// Listens at a path in a directory of this user alone. A socket that a proxy left behind is replaced.
  static func socket(at path: String) throws(CommandFailure) -> Listener {
    let directory = AgentPaths.directory(of: path)
    let folder = lanyard_open_directory(directory)
    guard folder >= 0 else {
      var missing = failure("The directory \(directory) can't be opened", -folder)
      if folder == -ENOENT { missing.hints = [PathAdvice.making(directory: directory)] }
      throw missing
    }
    defer { close(folder) }
    guard (try? FileRule.privateDirectory.check(folder)) != nil else {
      throw .usage(
        "The directory \(directory) has to be yours alone. The proxy was not started.",
        hints: [
          PathAdvice.closing(
            directory: directory, otherwise: "Choose a directory of your own: others may need this one.")
        ])
    }
    var descriptor = lanyard_bind_unix(path)
    if descriptor == -EADDRINUSE, isLeft(path) {
      unlink(path)
      descriptor = lanyard_bind_unix(path)
    }
    guard descriptor >= 0 else { throw failure("The socket \(path) can't be used", -descriptor) }
    guard listen(descriptor, backlog) == 0 else {
      let error = errno
      close(descriptor)
      unlink(path)
      throw failure("The socket \(path) can't be used", error)
    }
    return Listener(descriptor, .socket(path))
  }

  /// True for a socket at which no process listens.
  private static func isLeft(_ path: String) -> Bool {
    guard (try? FileRule.socket.check(path: path)) != nil else { return false }
    let connection = lanyard_connect_unix(path)
    if connection >= 0 { close(connection) }
    return connection == -ECONNREFUSED
  }

  private static func failure(_ what: String, _ error: Int32) -> CommandFailure {
    CommandFailure(.other, name: "system", "\(what): \(SystemError.message(error)). The proxy was not started.")
  }

  /// Takes one of the connections that wait, to a thread of its own. One at a time: between two of them the proxy sees that it
  /// has to end, however fast a client connects again.
  func accept(for proxy: Proxy) {
    let socket = lanyard_accept4(descriptor)
    guard socket >= 0 else {
      // Without descriptors, `accept` fails at once while connections wait: pause instead of spinning.
      if [-EMFILE, -ENFILE, -ENOMEM, -ENOBUFS].contains(socket) { usleep(100_000) }
      return
    }
    // Before anything is kept for it: connections of another user take no place of this user's.
    guard isOfThisUser(socket) else { return Self.refuse(socket, Self.otherUser) }
    guard proxy.admit() else { return Self.refuse(socket, Self.busy) }
    let isStarted = DetachedThread.start {
      ClientConnection(client: ClientStream(socket: socket), proxy: proxy).serve()
      proxy.release()
    }
    if !isStarted {
      proxy.release()
      Self.refuse(socket, Self.busy)
    }
  }

  private func isOfThisUser(_ connection: Int32) -> Bool {
    switch place {
    case .port: return PeerOwner.isThisUser(connection)
    // No other program has that network.
    case .sandbox: return true
    case .socket: break
    }
    var (pid, uid, gid): (pid_t, uid_t, gid_t) = (0, 0, 0)
    return lanyard_peer_credentials(connection, &pid, &uid, &gid) == 0 && uid == geteuid()
  }

  private static let otherUser = Refusal(403, "otherUser", "This proxy serves another user of this machine.")
  private static let busy = Refusal(503, "busy", "This proxy has no room for another connection.")

  /// Answers and closes at once, without waiting for anything of the client.
  private static func refuse(_ socket: Int32, _ refusal: Refusal) {
    let answer = refusal.response(asJSON: false, closes: true)
    _ = send(socket, answer, answer.count, Int32(MSG_NOSIGNAL))
    shutdown(socket, Int32(SHUT_WR))
    close(socket)
  }

  /// No further connection.
  func stop() { close(descriptor) }

  func removePath() { if case .socket(let path) = place { unlink(path) } }
}
