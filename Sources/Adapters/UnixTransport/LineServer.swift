internal import AgentModel
public import AgentPorts
internal import CPlatform
internal import Glibc
internal import JSONRPC
internal import Synchronization
internal import Threads

/// The reading thread: sleeps until a client sends, and reads once each time.
///
/// One thread answers a cached token without a hop to another. It waits by epoll(7), since poll(2) over 64 silent
/// clients doubles the time of the one that speaks. When nothing is due it sleeps without a timeout: no wake-ups while
/// idle.
public final class LineServer: Sendable {
  /// Clients at one time (docs/protocol.md, Limits).
  public static let connections = 64
  private let connections: Int
  /// The time that open clients have to read their last answers after `stop`.
  private static let farewell = Milliseconds.seconds(5)
  /// Time for a line from its first byte to its newline; restarted after a time in which the server did not read.
  private static let lineTime = Milliseconds.seconds(10)
  /// Bytes that one turn reads from one client. Small, since the answers wait in memory: the shortest bad lines get
  /// answers a hundred times as long.
  private static let chunk = 16 << 10

  private struct Shared {
    var announced: [Peer] = []
    var isStopping = false
  }

  private let host: any ConversationHost
  private let clock: any AgentClock
  private let names: (any PeerNaming)?
  private let wake: Int32
  private let shared = Mutex(Shared())

  /// - Parameter names: looks up the name of a client's program, for the audit log; nil for no lookup.
  public init(
    host: any ConversationHost, clock: any AgentClock, names: (any PeerNaming)? = nil, connections: Int = connections
  ) {
    self.host = host
    self.connections = connections
    self.clock = clock
    self.names = names
    wake = lanyard_eventfd()
  }

  deinit { close(wake) }

  /// Ends `run`: no new clients; current clients still get the answers to their requests.
  public func stop() {
    shared.withLock { $0.isStopping = true }
    lanyard_eventfd_signal(wake)
  }

  /// Serves on a listening socket until `stop`; or, with `stdio`, one client on two descriptors until its input ends.
  /// Blocks the calling thread. `signals` is a signalfd, or -1; `onSignal` is called with each signal's number.
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
  private struct Loop: ~Copyable {
    struct Client {
      let peer: Peer
      let conversation: any Conversation
      var isReading = true
      /// Whether epoll was asked for readability.
      var asksReading = true
      var asksWriting = false
      var inputEnded = false
      var isDone = false
      /// `isDone` because everything was written, and not because the client is gone.
      var isLeft = false
      /// When the current line must have ended; nil while the server does not read from this client.
      var deadline: BootInstant?
      /// When the server reads again even without an event: the rest of the line may have arrived before.
      var readAgainAt: BootInstant?
    }

    /// Tokens of epoll events: these three; then, from `first` on, two for each index of `clients`, of which a socket
    /// uses one.
    private static let wake: UInt64 = 0, signal: UInt64 = 1, listening: UInt64 = 2, first: UInt64 = 3

    let server: LineServer
    let listener: Int32
    let signals: Int32
    /// A client keeps its index for its life, so that a token never means another one.
    var clients: [Client?] = []
    var count = 0
    /// Clients with an unfinished line: while there is none, no deadline is due.
    var unfinishedLines = 0
    var someAreDone = false
    var lingeringCloses = LingeringCloses()
    var stopsAt: BootInstant?
    /// No descriptor is left, not even to refuse a client: no accept before this moment.
    var acceptsAt: BootInstant?
    /// A spare descriptor, closed to accept and refuse a client when no descriptor is left.
    var reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)
    var readiness = Readiness()
    /// Wiped after each read: it may hold a secret.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: LineServer.chunk, alignment: 16)
    /// A line of this round may have left a secret on the stack, for example in the registers that the dynamic linker
    /// saves when a function is called for the first time.
    var wipesStack = false

    init(listener: Int32, signals: Int32, server: LineServer) {
      self.server = server
      self.listener = listener
      self.signals = signals
      readiness.add(server.wake, Int16(POLLIN), token: Self.wake)
      if signals >= 0 { readiness.add(signals, Int16(POLLIN), token: Self.signal) }
      if listener >= 0 { readiness.add(listener, Int16(POLLIN), token: Self.listening) }
    }

    deinit {
      lingeringCloses.closeAll()
      buffer.deallocate()
      if reserve >= 0 { close(reserve) }
    }

    /// Registers a client; nil if there is no room: then the client got an error.
    @discardableResult
    mutating func begin(input: Int32, output: Int32, isSocket: Bool) -> Int? {
      let server = self.server
      let peer = Peer(input: input, output: output, isSocket: isSocket, names: server.names) {
        server.announce($0)
      }
      guard count < server.connections, let conversation = server.host.begin(peer) else {
        peer.send(server.host.refusalLine)
        _ = peer.flush(whenReady: true)  // a pipe is written to only here
        peer.retire()
        if isSocket { depart(input, isKnown: false) }
        return nil
      }
      let place = clients.firstIndex { $0 == nil } ?? clients.count
      if place == clients.count { clients.append(nil) }
      clients[place] = Client(peer: peer, conversation: conversation)
      count += 1
      if isSocket {
        readiness.add(input, Int16(POLLIN), token: Self.token(place))
      } else {
        settle(place, whenReady: false)
      }
      return place
    }

    private static func token(_ place: Int) -> UInt64 { first + 2 * UInt64(place) }

    mutating func run(endsWithLastClient: Bool, onSignal: (Int32) -> Void) {
      var events: [Readiness.Event] = []
      while true {
        if stopsAt != nil || endsWithLastClient, count == 0 { return }
        events.removeAll(keepingCapacity: true)
        readiness.wait(timeout()) { events.append($0) }
        var connectionWaits = false
        for event in events {
          switch event.token {
          case Self.wake:
            _ = lanyard_eventfd_drain(server.wake)
            takeAnnounced()
          case Self.signal: onSignal(lanyard_signalfd_read(signals))
          case Self.listening: connectionWaits = true
          case let token where token & LingeringCloses.mark != 0: lingeringCloses.serve(token: token, buffer: buffer)
          case let token: serve(Int(token - Self.first) / 2, event.events)
          }
        }
        if unfinishedLines > 0 || stopsAt != nil || acceptsAt != nil || lingeringCloses.nextEnd != nil {
          judgeDeadlines()
        }
        if someAreDone { closeDone() }
        // Last, so that a client that has just ended makes room for one that waits
        if connectionWaits, stopsAt == nil, acceptsAt == nil { acceptOne() }
        if wipesStack {
          wipeStack(.agent)
          wipesStack = false
        }
      }
    }

    /// Milliseconds until the next deadline; -1 if there is none.
    private func timeout() -> Int32 {
      var earliest = [stopsAt, acceptsAt, lingeringCloses.nextEnd].compactMap { $0 }.min()
      if unfinishedLines > 0 {
        for client in clients {
          if let deadline = client?.deadline { earliest = min(earliest ?? deadline, deadline) }
        }
      }
      guard let earliest else { return -1 }
      return Int32(clamping: max(0, (earliest - server.clock.boot()).count + 1))
    }

    private mutating func serve(_ place: Int, _ events: Int16) {
      guard let client = clients[place] else { return }
      if events & Int16(POLLIN) != 0 || (events & Int16(POLLHUP) != 0 && !client.inputEnded) {
        read(client, place)
      } else if events & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 {
        client.peer.retire()  // both directions are closed
      }
      settle(place, whenReady: events & Int16(POLLOUT) != 0)
    }

    private mutating func read(_ client: Client, _ place: Int) {
      guard client.isReading, !client.inputEnded else { return client.peer.retire() }
      let count = Glibc.read(client.peer.input, buffer.baseAddress, buffer.count)
      if count > 0 {
        client.conversation.received(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
        explicit_bzero(buffer.baseAddress!, count)
        wipesStack = wipesStack || client.conversation.mayHaveLeftSecretsOnStack
        noteDeadline(of: place)
      } else if count == 0 {
        endInput(place)
      } else if errno != EAGAIN, errno != EINTR {
        client.peer.retire()
      }
    }

    private mutating func endInput(_ place: Int) {
      clients[place]?.inputEnded = true
      clients[place]?.conversation.endOfInput()
      note(nil, of: place)
    }

    private mutating func noteDeadline(of place: Int) {
      guard let client = clients[place] else { return }
      let deadline = client.conversation.lineDeadline.map { deadline in
        client.readAgainAt.map { max(deadline, $0 + LineServer.lineTime) } ?? deadline
      }
      note(client.isReading && !client.inputEnded ? deadline : nil, of: place)
    }

    private mutating func note(_ deadline: BootInstant?, of place: Int) {
      guard clients[place]?.deadline != deadline else { return }
      unfinishedLines += (deadline == nil ? 0 : 1) - (clients[place]?.deadline == nil ? 0 : 1)
      clients[place]?.deadline = deadline
    }

    /// Writes queued bytes, and updates the client's events in epoll if they have changed.
    private mutating func settle(_ place: Int, whenReady: Bool) {
      guard let client = clients[place] else { return }
      let wants = client.peer.flush(whenReady: whenReady)
      if wants.isDone {
        clients[place]!.isDone = true
        someAreDone = true
      }
      clients[place]!.isLeft = wants.isLeft
      let reads = wants.reading && !client.inputEnded
      if client.peer.isSocket {
        if reads != client.asksReading || wants.writing != client.asksWriting {
          let events = (reads ? Int16(POLLIN) : 0) | (wants.writing ? Int16(POLLOUT) : 0)
          readiness.change(client.peer.input, events, token: Self.token(place))
        }
      } else {
        readiness.poll(client.peer.input, reads ? Int16(POLLIN) : 0, token: Self.token(place))
        readiness.poll(client.peer.output, wants.writing ? Int16(POLLOUT) : 0, token: Self.token(place) + 1)
      }
      if wants.reading != client.isReading {
        clients[place]!.isReading = wants.reading
        if wants.reading { clients[place]!.readAgainAt = server.clock.boot() }
        noteDeadline(of: place)
      }
      clients[place]!.asksReading = reads
      clients[place]!.asksWriting = wants.writing
      if wants.hasDrained { client.conversation.drained() }
    }

    private mutating func judgeDeadlines() {
      let now = server.clock.boot()
      for place in clients.indices {
        guard let client = clients[place], let deadline = client.deadline, deadline <= now else { continue }
        client.conversation.lineTimedOut()
        note(nil, of: place)
        settle(place, whenReady: false)
      }
      lingeringCloses.closeLate(now)
      if let acceptsAt, acceptsAt <= now {
        self.acceptsAt = nil
        if listener >= 0, stopsAt == nil { readiness.change(listener, Int16(POLLIN), token: Self.listening) }
      }
      guard let stopsAt, stopsAt <= now else { return }
      for place in clients.indices { clients[place]?.isDone = true }
      someAreDone = true
    }

    private mutating func takeAnnounced() {
      let (announced, isStopping) = server.shared.withLock { shared in
        defer { shared.announced.removeAll(keepingCapacity: true) }
        return (shared.announced, shared.isStopping)
      }
      for peer in announced {
        if let place = clients.firstIndex(where: { $0?.peer === peer }) { settle(place, whenReady: false) }
      }
      guard isStopping, stopsAt == nil else { return }
      stopsAt = server.clock.boot() + LineServer.farewell
      if listener >= 0 { readiness.remove(listener) }
      for place in clients.indices where clients[place]?.inputEnded == false {
        endInput(place)
        settle(place, whenReady: false)
      }
    }

    private mutating func closeDone() {
      someAreDone = false
      for place in clients.indices {
        guard let client = clients[place], client.isDone else { continue }
        note(nil, of: place)
        clients[place] = nil
        count -= 1
        client.peer.retire()
        client.conversation.ended()
        guard client.peer.isSocket else { continue }
        if client.isLeft, !client.inputEnded {
          depart(client.peer.input, isKnown: true)
        } else {
          close(client.peer.input)  // removes it from the epoll set, too
        }
      }
    }

    /// The client was sent everything; `isKnown` says that its socket is in the epoll set.
    private mutating func depart(_ fd: Int32, isKnown: Bool) {
      guard lingeringCloses.add(fd, now: server.clock.boot()) else { return }
      let token = LingeringCloses.mark | UInt64(fd)
      isKnown ? readiness.change(fd, Int16(POLLIN), token: token) : readiness.add(fd, Int16(POLLIN), token: token)
    }

    /// Accepts one client; if more wait, the listener stays ready.
    private mutating func acceptOne() {
      let fd = lanyard_accept4(listener)
      guard fd >= 0 else {
        if -fd == EMFILE || -fd == ENFILE { turnAway() }
        return
      }
      // Checks the peer's user id after every accept: the socket's mode is the first lock, this is the second.
      var (pid, uid, gid): (pid_t, uid_t, gid_t) = (0, 0, 0)
      guard lanyard_peer_credentials(fd, &pid, &uid, &gid) == 0, uid == geteuid() else {
        close(fd)
        return
      }
      guard let place = begin(input: fd, output: fd, isSocket: true) else { return }
      // A client that connects for each request has usually sent it by now.
      serve(place, Int16(POLLIN))
    }

    /// No descriptor is left. Accepts the waiting client on the spare descriptor just to refuse it: otherwise the
    /// listener would stay ready and this loop would never sleep.
    private mutating func turnAway() {
      if reserve < 0 { reserve = open("/dev/null", O_RDONLY | O_CLOEXEC) }
      guard reserve >= 0 else {
        acceptsAt = server.clock.boot() + .seconds(1)
        return readiness.change(listener, 0, token: Self.listening)
      }
      close(reserve)
      let refused = lanyard_accept4(listener)
      if refused >= 0 {
        let line = server.host.refusalLine
        withExtendedLifetime(line) {
          _ = line.withBytes { send(refused, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        }
        close(refused)
      }
      reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)
    }
  }
}
