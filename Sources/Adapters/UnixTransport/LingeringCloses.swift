internal import AgentModel
internal import Glibc

/// Clients that were told why they are let go: each gets the end of the stream, and some time to read up to it.
///
/// A unix socket that is closed with something unread in it gives its peer ECONNRESET instead of an end (unix(7)), and
/// who sent too much has always sent something that was not read. So what still comes is read and thrown away.
struct LingeringCloses {
  /// A client that was told will end by itself; this is for the one that does not.
  private static let patience = Milliseconds.seconds(2)
  /// More than a client can have sent before it saw the end of the stream.
  private static let bytes = 4 << 20
  /// Beyond these, clients are closed without ceremony.
  private static let bound = 64
  /// Marks their tokens; the rest of a token is the descriptor.
  static let mark: UInt64 = 1 << 62

  private struct Leaving {
    var descriptor: Int32
    var until: BootInstant
    var budget: Int
  }
  private var leaving: [Leaving] = []

  /// When the next one is closed whatever it does; nil if nobody is leaving.
  var nextEnd: BootInstant? { leaving.lazy.map(\.until).min() }

  /// Takes over a descriptor to whose peer everything was written. True if it stays open for a while: the caller then
  /// waits for what it sends, under `mark | descriptor`.
  mutating func add(_ descriptor: Int32, now: BootInstant) -> Bool {
    guard leaving.count < Self.bound, shutdown(descriptor, Int32(SHUT_WR)) == 0 else {
      close(descriptor)
      return false
    }
    leaving.append(Leaving(descriptor: descriptor, until: now + Self.patience, budget: Self.bytes))
    return true
  }

  /// Throws away what came, and closes who has ended.
  mutating func serve(token: UInt64, buffer: UnsafeMutableRawBufferPointer) {
    guard let index = leaving.firstIndex(where: { Self.mark | UInt64($0.descriptor) == token }) else { return }
    let count = read(leaving[index].descriptor, buffer.baseAddress, buffer.count)
    if count > 0 { explicit_bzero(buffer.baseAddress!, count) }  // it may hold a secret all the same
    leaving[index].budget -= max(count, 0)
    let isOver = count == 0 || count < 0 && errno != EAGAIN && errno != EINTR || leaving[index].budget <= 0
    if isOver { close(leaving.remove(at: index).descriptor) }
  }

  /// Closes who has had its time.
  mutating func closeLate(_ now: BootInstant) {
    for index in leaving.indices.reversed() where leaving[index].until <= now {
      close(leaving.remove(at: index).descriptor)
    }
  }

  func closeAll() {
    for client in leaving { close(client.descriptor) }
  }
}
