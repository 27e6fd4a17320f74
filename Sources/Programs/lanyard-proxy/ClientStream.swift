import Glibc
import TLSServing
import Threads

/// The bytes of one client: of its socket, or of TLS over it. Its thread alone uses it; the socket is non-blocking.
final class ClientStream {
  let socket: Int32
  private var session: ServerSession?
  /// Bytes that were read and not taken.
  private var buffered: [UInt8] = []
  private var bufferedStart = 0
  private var isAborted = false

  /// A client that takes nothing for so long is let go.
  private static let writeMilliseconds: Int = 60_000
  private static let pieceBytes = 16 << 10

  /// Takes the socket, and closes it with its owner.
  init(socket: Int32) {
    self.socket = socket
    // Pieces of a stream go at once (tcp(7)). A unix socket has no such option.
    var yes: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit {
    session = nil
    close(socket)
  }

  enum Reading {
    case bytes(Int)
    case later
    /// The client ended in order.
    case end
    case failed
  }

  // MARK: TLS

  /// From now on the bytes are those of a TLS session.
  /// - Returns: false if the client breaks off, or is too slow.
  func startTLS(_ leaf: RunAuthority.Leaf, milliseconds: Int) -> Bool {
    guard buffered.count == bufferedStart, let session = ServerSession(leaf, socket: socket) else { return false }
    let deadline = MonotonicTime.now.milliseconds + milliseconds
    while true {
      switch session.accept() {
      case .bytes:
        self.session = session
        return true
      case .wantsRead: guard wait(POLLIN, until: deadline) else { return false }
      case .wantsWrite: guard wait(POLLOUT, until: deadline) else { return false }
      case .closed, .failed: return false
      }
    }
  }

  /// The host that the client named in its handshake.
  var serverName: String? { session?.name }

  // MARK: reading

  /// Gives back bytes that were read too much.
  func putBack(_ bytes: [UInt8]) {
    buffered = bytes + buffered[bufferedStart...]
    bufferedStart = 0
  }

  var hasBuffered: Bool { bufferedStart < buffered.count }

  /// What is there now: first what was given back.
  func read(into memory: UnsafeMutableRawBufferPointer) -> Reading {
    if hasBuffered {
      let count = min(memory.count, buffered.count - bufferedStart)
      buffered.withUnsafeBytes {
        memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[bufferedStart..<(bufferedStart + count)]))
      }
      bufferedStart += count
      if !hasBuffered { (buffered, bufferedStart) = ([], 0) }
      return .bytes(count)
    }
    guard let session else {
      while true {
        let count = recv(socket, memory.baseAddress, memory.count, 0)
        if count > 0 { return .bytes(count) }
        if count == 0 { return .end }
        if errno == EINTR { continue }
        return errno == EAGAIN ? .later : .failed
      }
    }
    switch session.read(into: memory) {
    case .bytes(let count): return .bytes(count)
    case .closed: return .end
    case .wantsRead: return .later
    case .wantsWrite:
      _ = wait(POLLOUT, until: MonotonicTime.now.milliseconds + 1000)
      return .later
    case .failed: return .failed
    }
  }

  /// Waits for bytes, at most until the deadline.
  func readWaiting(into memory: UnsafeMutableRawBufferPointer, until deadline: Int) -> Reading {
    while true {
      switch read(into: memory) {
      case .later: guard wait(POLLIN, until: deadline) else { return .later }
      case let reading: return reading
      }
    }
  }

  // MARK: writing

  /// False if the client is gone, or takes nothing.
  func write(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { write($0) } }

  func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var rest = bytes
    var deadline = MonotonicTime.now.milliseconds + Self.writeMilliseconds
    while !rest.isEmpty {
      let events: Int32
      switch writeOnce(rest) {
      case .bytes(let count):
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        deadline = MonotonicTime.now.milliseconds + Self.writeMilliseconds
        continue
      case .wantsWrite: events = POLLOUT
      case .wantsRead: events = POLLIN
      case .closed, .failed: return false
      }
      guard wait(events, until: deadline) else { return false }
    }
    return true
  }

  /// Writes what can be written now.
  func writeOnce(_ bytes: UnsafeRawBufferPointer) -> ServerSession.Outcome {
    if let session { return session.write(bytes) }
    while true {
      let count = send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      if count >= 0 { return .bytes(count) }
      if errno == EINTR { continue }
      return errno == EAGAIN ? .wantsWrite : .failed
    }
  }

  // MARK: the end

  /// The longest wait for the client's close after the last response.
  private static let lingerMilliseconds: Int = 1000
  /// So much of a body that is not wanted is read and dropped.
  private static let mostDropped = 1 << 20

  /// Ends in order. What the client still sends is read for a moment: if unread bytes remain at the close, the kernel sends RST,
  /// which can destroy a response that the client has not read yet.
  func finish() {
    guard !isAborted else { return }
    session?.close()
    shutdown(socket, Int32(SHUT_WR))
    let deadline = MonotonicTime.now.milliseconds + Self.lingerMilliseconds
    var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
    var dropped = 0
    while dropped < Self.mostDropped {
      let count = recv(socket, &piece, piece.count, 0)
      if count == 0 { return }
      if count > 0 {
        dropped += count
      } else if errno != EINTR {
        guard errno == EAGAIN, wait(POLLIN, until: deadline) else { return }
      }
    }
  }

  /// Ends so that the client sees a failure: TLS without its end, TCP by a reset.
  func abort() {
    isAborted = true
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }

  /// False at the deadline, or if the socket is closed.
  private func wait(_ events: Int32, until deadline: Int) -> Bool {
    while true {
      let left = deadline - MonotonicTime.now.milliseconds
      guard left > 0 else { return false }
      var entry = pollfd(fd: socket, events: Int16(events), revents: 0)
      let count = poll(&entry, 1, Int32(clamping: left))
      if count > 0 { return entry.revents & Int16(POLLNVAL) == 0 }
      if count == 0 || errno != EINTR { return false }
    }
  }
}
