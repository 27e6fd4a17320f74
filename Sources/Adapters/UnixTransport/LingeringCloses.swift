internal import AgentModel
internal import Glibc

/// Connections that the server ends: each gets the end of the stream, and some time to read up to it.
///
/// A unix socket that is closed with unread input gives its peer ECONNRESET instead of the end of the stream (unix(7)),
/// and a client that sent too much has always sent something unread. So the rest of its input is read and discarded.
struct LingeringCloses {
  /// A client that reads the end closes by itself; this limit is for one that does not.
  private static let patience = Milliseconds.seconds(2)
  /// More than a client can have sent before it saw the end of the stream.
  private static let bytes = 4 << 20
  /// Beyond this many, connections are closed at once.
  private static let bound = 64
  /// Marks their epoll tokens; the rest of a token is the descriptor.
  static let mark: UInt64 = 1 << 62

  private struct Leaving {
    var descriptor: Int32
    var until: BootInstant
    var budget: Int
  }
  private var leaving: [Leaving] = []

  /// When the next connection is closed in any case; nil if none lingers.
  var nextEnd: BootInstant? { leaving.lazy.map(\.until).min() }

  /// Takes over a descriptor whose output was written completely. True if it stays open for a while: the caller then
  /// waits for its input under `mark | descriptor`.
  mutating func add(_ descriptor: Int32, now: BootInstant) -> Bool {
    guard leaving.count < Self.bound, shutdown(descriptor, Int32(SHUT_WR)) == 0 else {
      close(descriptor)
      return false
    }
    leaving.append(Leaving(descriptor: descriptor, until: now + Self.patience, budget: Self.bytes))
    return true
  }

  /// Discards input, and closes the connection if the peer has closed it.
  mutating func serve(token: UInt64, buffer: UnsafeMutableRawBufferPointer) {
    guard let index = leaving.firstIndex(where: { Self.mark | UInt64($0.descriptor) == token }) else { return }
    let count = read(leaving[index].descriptor, buffer.baseAddress, buffer.count)
    if count > 0 { explicit_bzero(buffer.baseAddress!, count) }  // it may hold a secret all the same
    leaving[index].budget -= max(count, 0)
    let isOver = count == 0 || count < 0 && errno != EAGAIN && errno != EINTR || leaving[index].budget <= 0
    if isOver { close(leaving.remove(at: index).descriptor) }
  }

  /// Closes every connection whose time is over.
  mutating func closeLate(_ now: BootInstant) {
    for index in leaving.indices.reversed() where leaving[index].until <= now {
      close(leaving.remove(at: index).descriptor)
    }
  }

  func closeAll() {
    for client in leaving { close(client.descriptor) }
  }
}
