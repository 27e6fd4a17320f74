import CPlatform
import Glibc

/// A listening socket on one loopback address; closed with the last reference.
final class ListeningSocket: Sendable {
  let descriptor: Descriptor
  let port: UInt16

  /// Connections that may wait for `accept`. When the queue is full, the kernel delays the peer instead of refusing it.
  private static let backlog: Int32 = 64

  init(address: LoopbackAddress.Address, port: UInt16) throws(LoopbackError) {
    let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let number = socket(address.family, Int32(kind), 0)
    guard number >= 0 else { throw .system(call: "socket", errno: errno) }
    descriptor = Descriptor(owning: number)
    self.port = try Self.listen(number, address: address, port: port)
  }

  private static func listen(
    _ number: Int32,
    address: LoopbackAddress.Address,
    port: UInt16
  ) throws(LoopbackError) -> UInt16 {
    // With SO_REUSEADDR, bind ignores connections in TIME_WAIT if they had it too, but never a listening socket: a busy
    // port still fails, in bind or (if both sockets set it and neither listened yet) in listen. For port 0 it is set
    // after bind, since two sockets that set it before could get the same port.
    if port != 0 { allowReuse(number) }
    guard address.withSocketAddress(port: port, { bind(number, $0, $1) }) == 0 else {
      throw failure("bind", port: port)
    }
    if port == 0 { allowReuse(number) }
    guard Glibc.listen(number, backlog) == 0 else { throw failure("listen", port: port) }
    return boundPort(number)
  }

  private static func allowReuse(_ number: Int32) {
    var yes: Int32 = 1
    setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Frees the port for another socket at once, also while a thread still holds this one.
  func stopListening() { shutdown(descriptor.number, Int32(SHUT_RDWR)) }

  /// The descriptor of the next connection, or a negative errno: `-EAGAIN` if none waits.
  func accept() -> Int32 { lanyard_accept4(descriptor.number) }

  private static func failure(_ call: String, port: UInt16) -> LoopbackError {
    switch errno {
    case EADDRINUSE: .portBusy(port)
    case EACCES, EPERM: .notPermitted(port)
    case let number: .system(call: call, errno: number)
    }
  }

  private static func boundPort(_ number: Int32) -> UInt16 {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(number, $0, &length) }
      // `sin_port` and `sin6_port` have the same offset.
      return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
    }
  }
}

extension LoopbackAddress.Address {
  func withSocketAddress(port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    switch self {
    case .v4(let address):
      var value = sockaddr_in()
      value.sin_family = sa_family_t(AF_INET)
      value.sin_port = port.bigEndian
      value.sin_addr.s_addr = address.bigEndian
      return withUnsafePointer(to: &value) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
      }
    case .v6:
      var value = sockaddr_in6()
      value.sin6_family = sa_family_t(AF_INET6)
      value.sin6_port = port.bigEndian
      value.sin6_addr = in6addr_loopback
      return withUnsafePointer(to: &value) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in6>.size)) }
      }
    }
  }
}

extension ListeningSocket {
  /// Attempts to find a port that is free in both families.
  private static let attempts = 16

  /// The sockets of one host: one, or for `localhost` one for each family on the same port.
  static func open(host: String, port: UInt16) throws(LoopbackError) -> [ListeningSocket] {
    let addresses = LoopbackAddress.addresses(of: host)
    guard let primary = addresses.first else { throw .notLoopback(host: host) }
    for attempt in 1...attempts {
      let first = try ListeningSocket(address: primary, port: port)
      guard addresses.count > 1 else { return [first] }
      do throws(LoopbackError) {
        return [first, try ListeningSocket(address: addresses[1], port: first.port)]
      } catch .system(_, let number) where number == EADDRNOTAVAIL || number == EAFNOSUPPORT {
        return [first]  // this machine has no IPv6
      } catch .portBusy where port == 0 && attempt < attempts {
        continue
      }
    }
    throw .portBusy(port)
  }
}
