internal import AgentModel
public import AgentPorts
internal import CPlatform
internal import Glibc
internal import JSONRPC
internal import Synchronization

/// The reading thread: poll(2) over all clients, one read each time one has sent something.
///
/// One thread answers a cached token without a hop to another, which is as fast as the machine allows; with at most
/// 64 clients poll(2) is enough. When nothing is due it sleeps without a timeout: no wake-ups while idle.
public final class LineServer: Sendable {
  /// Clients at one time (API.md, Wire: Limits).
  public static let connections = 64
  /// How long open clients may take to read their last answers after `stop`.
  private static let farewell = Milliseconds.seconds(5)

  private struct Shared {
    var announced: [Peer] = []
    var isStopping = false
  }

  private let host: any ConversationHost
  private let clock: any AgentClock
  private let wake: Int32
  private let shared = Mutex(Shared())
  private let isRunning = Atomic(false)

  public init(host: any ConversationHost, clock: any AgentClock) {
    self.host = host
    self.clock = clock
    wake = lanyard_eventfd()
  }

  deinit { close(wake) }

  /// Ends `run`: no new clients; those that are there get the answers that are still to come.
  public func stop() {
    shared.withLock { $0.isStopping = true }
    lanyard_eventfd_signal(wake)
  }

  /// Serves on a listening socket until `stop`; or, with `stdio`, one client on two descriptors until its input ends.
  /// Blocks the calling thread. `signals` is a signalfd, or -1; `onSignal` is called with what it brought.
  public func run(
    listener: Int32 = -1, stdio: (input: Int32, output: Int32)? = nil, signals: Int32 = -1,
    onSignal: @escaping (Int32) -> Void = { _ in }
  ) {
    var loop = Loop(listener: listener, signals: signals, server: self)
    if let stdio { loop.begin(input: stdio.input, output: stdio.output, isSocket: false) }
    loop.run(endsWithLastClient: stdio != nil, onSignal: onSignal)
  }

  private func announce(_ peer: Peer) {
    shared.withLock { $0.announced.append(peer) }
    lanyard_eventfd_signal(wake)
  }

  /// The state of the reading thread.
  private struct Loop {
    struct Client {
      let peer: Peer
      let conversation: any Conversation
      var isReading = true
      var inputEnded = false
      var isDone = false
      /// When the line that has begun must have ended.
      var deadline: BootInstant?
    }

    /// The first entries of `fds`; each client has two after them, of which a socket uses one.
    private static let wake = 0, signal = 1, listening = 2, first = 3

    let server: LineServer
    var clients: [Client] = []
    var fds: [pollfd]
    /// Clients with a line that has begun: as long as there is none, nothing is due.
    var unfinishedLines = 0
    var someAreDone = false
    var stopsAt: BootInstant?
    /// Given up to accept and refuse a client when no descriptor is left.
    var reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)
    /// Wiped after each read: it may hold a secret.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

    init(listener: Int32, signals: Int32, server: LineServer) {
      self.server = server
      fds = [server.wake, signals, listener].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    }

    mutating func begin(input: Int32, output: Int32, isSocket: Bool) {
      let server = self.server
      let peer = Peer(input: input, output: output, isSocket: isSocket) { server.announce($0) }
      guard clients.count < LineServer.connections, let conversation = server.host.begin(peer) else {
        peer.send(server.host.refusalLine)
        peer.retire()
        if isSocket { close(input) }
        return
      }
      clients.append(Client(peer: peer, conversation: conversation))
      fds.append(pollfd(fd: input, events: Int16(POLLIN), revents: 0))
      fds.append(pollfd(fd: -1, events: Int16(POLLOUT), revents: 0))
    }

    mutating func run(endsWithLastClient: Bool, onSignal: (Int32) -> Void) {
      defer {
        buffer.deallocate()
        if reserve >= 0 { close(reserve) }
      }
      while true {
        if stopsAt != nil || endsWithLastClient, clients.isEmpty { return }
        var ready = Int(poll(&fds, nfds_t(fds.count), timeout()))
        if ready < 0 {
          guard errno == EINTR else { return }
          continue
        }
        if fds[Self.wake].revents != 0 {
          ready -= 1
          _ = lanyard_eventfd_drain(server.wake)
          takeAnnounced()
        }
        if fds[Self.signal].revents != 0 {
          ready -= 1
          onSignal(lanyard_signalfd_read(fds[Self.signal].fd))
        }
        let someoneWaits = fds[Self.listening].revents != 0
        if someoneWaits { ready -= 1 }
        if ready > 0 { serve(ready) }
        if unfinishedLines > 0 || stopsAt != nil { judgeDeadlines() }
        if someAreDone { closeDone() }
        if someoneWaits, stopsAt == nil { acceptAll() }
      }
    }

    /// Until the next line must have ended; -1 when nothing is due.
    private func timeout() -> Int32 {
      var earliest = stopsAt
      if unfinishedLines > 0 {
        for client in clients {
          if let deadline = client.deadline { earliest = min(earliest ?? deadline, deadline) }
        }
      }
      guard let earliest else { return -1 }
      return Int32(clamping: max(0, (earliest - server.clock.boot()).count + 1))
    }

    private mutating func serve(_ ready: Int) {
      var left = ready
      for index in clients.indices where left > 0 {
        let slot = Self.first + 2 * index
        let input = fds[slot].revents
        let output = fds[slot + 1].revents
        guard input != 0 || output != 0 else { continue }
        left -= (input != 0 ? 1 : 0) + (output != 0 ? 1 : 0)
        if input & Int16(POLLIN) != 0 || (input & Int16(POLLHUP) != 0 && !clients[index].inputEnded) {
          read(index)
        } else if input & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 {
          clients[index].peer.retire()  // both directions are gone
        }
        settle(index, whenReady: output != 0 || input & Int16(POLLOUT) != 0)
      }
    }

    private mutating func read(_ index: Int) {
      let peer = clients[index].peer
      guard clients[index].isReading, !clients[index].inputEnded else { return peer.retire() }
      let count = Glibc.read(peer.input, buffer.baseAddress, buffer.count)
      if count > 0 {
        let conversation = clients[index].conversation
        conversation.received(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
        explicit_bzero(buffer.baseAddress!, count)
        note(conversation.lineDeadline, of: index)
      } else if count == 0 {
        endInput(index)
      } else if errno != EAGAIN, errno != EINTR {
        peer.retire()
      }
    }

    private mutating func endInput(_ index: Int) {
      clients[index].inputEnded = true
      clients[index].conversation.endOfInput()
      note(nil, of: index)
    }

    private mutating func note(_ deadline: BootInstant?, of index: Int) {
      unfinishedLines += (deadline == nil ? 0 : 1) - (clients[index].deadline == nil ? 0 : 1)
      clients[index].deadline = deadline
    }

    /// Writes what waits, and notes what to wait for.
    private mutating func settle(_ index: Int, whenReady: Bool) {
      let peer = clients[index].peer
      let wants = peer.flush(whenReady: whenReady)
      clients[index].isReading = wants.reading
      clients[index].isDone = wants.isDone
      if wants.isDone { someAreDone = true }
      let reads = wants.reading && !clients[index].inputEnded
      let slot = Self.first + 2 * index
      if peer.isSocket {
        fds[slot].events = (reads ? Int16(POLLIN) : 0) | (wants.writing ? Int16(POLLOUT) : 0)
      } else {
        fds[slot].fd = reads ? peer.input : -1
        fds[slot + 1].fd = wants.writing ? peer.output : -1
      }
      if wants.hasDrained { clients[index].conversation.drained() }
    }

    private mutating func judgeDeadlines() {
      let now = server.clock.boot()
      for index in clients.indices {
        guard let deadline = clients[index].deadline, deadline <= now else { continue }
        clients[index].conversation.lineTimedOut()
        note(nil, of: index)
        settle(index, whenReady: false)
      }
      guard let stopsAt, stopsAt <= now else { return }
      for index in clients.indices { clients[index].isDone = true }
      someAreDone = true
    }

    private mutating func takeAnnounced() {
      let (announced, isStopping) = server.shared.withLock { shared in
        defer { shared.announced.removeAll(keepingCapacity: true) }
        return (shared.announced, shared.isStopping)
      }
      for peer in announced {
        if let index = clients.firstIndex(where: { $0.peer === peer }) { settle(index, whenReady: false) }
      }
      guard isStopping, stopsAt == nil else { return }
      stopsAt = server.clock.boot() + LineServer.farewell
      fds[Self.listening].fd = -1
      for index in clients.indices where !clients[index].inputEnded {
        endInput(index)
        settle(index, whenReady: false)
      }
    }

    private mutating func closeDone() {
      someAreDone = false
      for index in clients.indices.reversed() where clients[index].isDone {
        note(nil, of: index)
        let client = clients.remove(at: index)
        fds.removeSubrange(Self.first + 2 * index..<Self.first + 2 * index + 2)
        client.peer.retire()
        client.conversation.ended()
        if client.peer.isSocket { close(client.peer.input) }
      }
    }

    private mutating func acceptAll() {
      while true {
        let fd = lanyard_accept4(fds[Self.listening].fd)
        if fd < 0 {
          if -fd == EINTR || -fd == ECONNABORTED { continue }
          guard -fd == EMFILE || -fd == ENFILE, reserve >= 0 else { return }
          // No descriptor is left. The waiting client is let in for as long as it takes to be turned away, or the
          // listener would stay readable and this loop would never sleep.
          close(reserve)
          let refused = lanyard_accept4(fds[Self.listening].fd)
          if refused >= 0 {
            server.host.refusalLine.bytes.withMemoryRebound(to: UInt8.self) {
              _ = send(refused, $0.baseAddress!, $0.count, Int32(MSG_NOSIGNAL))
            }
            close(refused)
          }
          reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)
          return
        }
        // Every accept is asked who it is: the socket's mode is the first lock, this is the second.
        var (pid, uid, gid): (pid_t, uid_t, gid_t) = (0, 0, 0)
        guard lanyard_peer_credentials(fd, &pid, &uid, &gid) == 0, uid == geteuid() else {
          close(fd)
          continue
        }
        begin(input: fd, output: fd, isSocket: true)
      }
    }
  }
}
