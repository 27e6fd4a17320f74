internal import AgentModel
internal import Glibc
internal import Synchronization
internal import Threads

/// Looks a server's name up on this machine, where another proxy looks it up for the connection (docs/proxy.md, What passes):
/// a name must not lead where its address would be refused.
package enum HostLookup {
  /// So long a connection waits for it: the other proxy may be there because this machine has no name server.
  package static let patienceMilliseconds = 2_000
  /// A lookup without an answer holds its thread for longer than that.
  private static let mostThreads = 64
  private static let threads = Atomic(0)

  /// True if an address of the host is not public. False where this machine finds none, or none in time: then the other
  /// proxy alone knows the name.
  ///
  /// - Parameter find: finds the addresses, however long that takes.
  package static func hasSpecialAddress(
    _ host: String, milliseconds: Int = HostLookup.patienceMilliseconds,
    find: @escaping @Sendable (String) -> [[UInt8]] = { HostLookup.addresses(of: $0) }
  ) -> Bool {
    let lookup = Lookup()
    guard lookup.done.descriptor >= 0, lookup.start(host, find) else { return false }
    var entry = pollfd(fd: lookup.done.descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&entry, 1, Int32(clamping: milliseconds))
    return lookup.addresses.contains { !PublicAddress.isPublic($0) }
  }

  /// The addresses of a host in network order.
  package static func addresses(of host: String) -> [[UInt8]] {
    var (hints, first): (addrinfo, UnsafeMutablePointer<addrinfo>?) = (addrinfo(), nil)
    // Each address once, not once for each kind of socket.
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    guard getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
    defer { freeaddrinfo(first) }
    var (found, next): ([[UInt8]], UnsafeMutablePointer<addrinfo>?) = ([], first)
    while let entry = next?.pointee {
      if let address = entry.ai_addr {
        switch entry.ai_family {
        case AF_INET:
          address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { four in
            found.append(withUnsafeBytes(of: four.pointee.sin_addr) { Array($0) })
          }
        case AF_INET6:
          address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { six in
            found.append(withUnsafeBytes(of: six.pointee.sin6_addr) { Array($0) })
          }
        default: break
        }
      }
      next = entry.ai_next
    }
    return found
  }

  /// One lookup, whose thread may outlive the wait for it.
  private final class Lookup: Sendable {
    let done = WakeUp()
    private let found = Mutex<[[UInt8]]>([])

    /// Empty until the lookup is done.
    var addresses: [[UInt8]] { found.withLock { $0 } }

    /// False if no thread is left for it.
    func start(_ host: String, _ find: @escaping @Sendable (String) -> [[UInt8]]) -> Bool {
      let isStarted =
        HostLookup.threads.add(1, ordering: .acquiringAndReleasing).newValue <= HostLookup.mostThreads
        && DetachedThread.start { [self] in
          let addresses = find(host)
          found.withLock { $0 = addresses }
          done.signal()
          HostLookup.threads.subtract(1, ordering: .acquiringAndReleasing)
        }
      if !isStarted { HostLookup.threads.subtract(1, ordering: .acquiringAndReleasing) }
      return isStarted
    }
  }
}
