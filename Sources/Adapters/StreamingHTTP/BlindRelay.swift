internal import CPlatform
internal import Glibc
internal import Threads

/// Moves bytes between a program and a server until both have ended, without reading them. Between two sockets the kernel moves
/// them (splice(2)): at 100 MB/s that takes a few hundredths of a core.
public struct BlindRelay {
  /// How many bytes went from the program to the server.
  public private(set) var sentBytes: Int64 = 0
  /// How many bytes went from the server to the program.
  public private(set) var receivedBytes: Int64 = 0

  /// Where no byte moves for so long, both ends are let go.
  public static let idleMilliseconds = 3_600_000
  private static let pieceBytes = 64 << 10

  public init() {}

  /// Adds what went to the server before `run`.
  public mutating func count(sent count: Int) { sentBytes += Int64(count) }

  /// Adds what went to the program before `run`.
  public mutating func count(received count: Int) { receivedBytes += Int64(count) }

  /// Runs until the end.
  ///
  /// - Parameters:
  ///   - client: a socket that does not block; it stays the caller's.
  ///   - isOneWay: nothing more goes to the server.
  public mutating func run(
    client: Int32, server: OpenConnection, cancellation: HTTPCancellation, isOneWay: Bool = false
  ) {
    let wakeUp = WakeUp()
    guard wakeUp.descriptor >= 0, let up = Direction(from: .socket(client), to: Self.end(server)),
      let down = Direction(from: Self.end(server), to: .socket(client))
    else { return }
    if isOneWay { up.leaveOut() }
    cancellation.attach(wakeUp)
    defer { cancellation.attach(nil) }
    while !cancellation.isCancelled, !up.isOver || !down.isOver {
      sentBytes += up.move()
      receivedBytes += down.move()
      // Once one direction has failed, no end waits for the other.
      if up.hasFailed || down.hasFailed { return }
      guard !up.isOver || !down.isOver else { return }
      var entries = [
        pollfd(fd: client, events: up.readEvents | down.writeEvents, revents: 0),
        pollfd(fd: server.socket, events: down.readEvents | up.writeEvents, revents: 0),
        pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      // An end that nothing is wanted of would be told as gone again and again.
      for index in 0..<2 where entries[index].events == 0 { entries[index].fd = -1 }
      let count = poll(&entries, 3, Int32(Self.idleMilliseconds))
      guard count > 0 || count < 0 && errno == EINTR else { return }
    }
  }

  private static func end(_ server: OpenConnection) -> Direction.End {
    server.isWrapped ? .wrapped(server) : .socket(server.socket)
  }

  /// One way of the two.
  private final class Direction {
    enum End {
      case socket(Int32)
      case wrapped(OpenConnection)
    }

    private let source: End
    private let target: End
    /// Between two sockets.
    private var pipe: [Int32] = [-1, -1]
    /// With TLS at one end.
    private var bytes: [UInt8] = []
    private var start = 0
    private var waiting = 0
    private var hasEnded = false
    /// Everything has gone on, and the target knows that nothing follows.
    private(set) var isOver = false
    private(set) var hasFailed = false

    /// Nil without a descriptor.
    init?(from source: End, to target: End) {
      (self.source, self.target) = (source, target)
      if case .socket = source, case .socket = target {
        guard lanyard_pipe(&pipe) == 0 else { return nil }
      } else {
        bytes = [UInt8](repeating: 0, count: BlindRelay.pieceBytes)
      }
    }

    deinit { for end in pipe where end >= 0 { close(end) } }

    /// Moves nothing, and leaves the target open.
    func leaveOut() { (hasEnded, isOver) = (true, true) }

    var readEvents: Int16 { hasEnded || waiting > 0 ? 0 : Int16(POLLIN) }
    var writeEvents: Int16 { waiting > 0 ? Int16(POLLOUT) : 0 }

    /// Moves what can be moved now, and returns how much the target took.
    func move() -> Int64 {
      var moved: Int64 = 0
      while !isOver, !hasFailed {
        if waiting == 0 {
          if hasEnded {
            finish()
            break
          }
          guard take() else { break }
          continue
        }
        guard let count = give() else { break }
        moved += Int64(count)
        // The other direction has its turn, too.
        if moved >= 1 << 20 { break }
      }
      return moved
    }

    /// False if nothing came.
    private func take() -> Bool {
      switch received() {
      case .bytes(let count): (waiting, start) = (count, 0)
      case .end: hasEnded = true
      case .later: return false
      case .failed: hasFailed = true
      }
      return true
    }

    /// Nil if the target takes nothing now.
    private func give() -> Int? {
      switch given() {
      case .bytes(let count):
        waiting -= count
        start += count
        return count
      case .later: return nil
      case .end, .failed:
        hasFailed = true
        return nil
      }
    }

    private func received() -> OpenConnection.Progress {
      switch source {
      case .socket(let socket) where pipe[1] >= 0:
        Self.progress(lanyard_splice(socket, pipe[1], BlindRelay.pieceBytes))
      case .socket(let socket):
        Self.progress(bytes.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT)) })
      case .wrapped(let connection): bytes.withUnsafeMutableBytes { connection.read(into: $0) }
      }
    }

    private func given() -> OpenConnection.Progress {
      let range = start..<(start + waiting)
      return switch target {
      case .socket(let socket) where pipe[0] >= 0: Self.progress(lanyard_splice(pipe[0], socket, waiting))
      case .socket(let socket):
        Self.progress(
          bytes[range].withUnsafeBytes {
            send(socket, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
          })
      case .wrapped(let connection): bytes[range].withUnsafeBytes { connection.write($0) }
      }
    }

    /// `result`: a count, 0 at the end, or -1 or less with the error.
    private static func progress(_ result: Int) -> OpenConnection.Progress {
      if result > 0 { return .bytes(result) }
      if result == 0 { return .end }
      let error = result < -1 ? Int32(-result) : errno
      return error == EAGAIN || error == EINTR ? .later : .failed
    }

    private func finish() {
      // TLS has no half of an end that a server would go on after.
      if case .socket(let socket) = target { shutdown(socket, Int32(SHUT_WR)) }
      isOver = true
    }
  }
}
