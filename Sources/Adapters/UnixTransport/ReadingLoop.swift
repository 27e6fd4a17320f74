internal import AgentModel
internal import AgentPorts
internal import CPlatform
internal import Glibc
internal import JSONRPC
internal import Threads

/// The loop of the reading thread, with its state.
struct ReadingLoop: ~Copyable {
  /// The time that open clients have to read their last answers after `stop`.
  private static let farewell = Milliseconds.seconds(5)
  /// Time for a line from its first byte to its newline; restarted after a time in which the server did not read.
  private static let lineTime = Milliseconds.seconds(10)
  /// The time for each answer whose memory other clients' answers wait for: slow enough for 4 MiB through a slow tunnel.
  private static let readingTime = Milliseconds.seconds(120)
  /// Bytes that one turn reads from one client. Small, since the answers wait in memory: the shortest bad lines get
  /// answers a hundred times as long.
  private static let chunk = 16 << 10

  /// Tokens of epoll events: these three; then, from `first` on, two for each index of `clients`, of which a socket
  /// uses one.
  private static let wake: UInt64 = 0, signal: UInt64 = 1, listening: UInt64 = 2, first: UInt64 = 3

  private let server: LineServer
  private var listener: Listener
  private let signals: Int32
  private var clients = ServedClients()
  /// Places of clients to close at the end of the turn.
  private var done: [Int] = []
  private var lingeringCloses = LingeringCloses()
  private var stopsAt: BootInstant?
  /// No descriptor is left, not even to refuse a client: no accept before this moment.
  private var acceptsAt: BootInstant?
  private var readiness = Readiness()
  /// Wiped after each read: it may hold a secret.
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.chunk, alignment: 16)
  /// A line of this round may have left a secret on the stack, for example in the registers that the dynamic linker
  /// saves when a function is called for the first time.
  private var wipesStack = false

  init(listener: Int32, signals: Int32, server: LineServer) {
    self.server = server
    self.listener = Listener(listener)
    self.signals = signals
    readiness.add(server.announcements.descriptor, Int16(POLLIN), token: Self.wake)
    if signals >= 0 { readiness.add(signals, Int16(POLLIN), token: Self.signal) }
    if listener >= 0 { readiness.add(listener, Int16(POLLIN), token: Self.listening) }
  }

  deinit {
    lingeringCloses.closeAll()
    buffer.deallocate()
  }

  /// Registers a client; nil if there is no room: then the client got an error.
  @discardableResult
  mutating func begin(input: Int32, output: Int32, process: Int32?, isSocket: Bool) -> Int? {
    let peer = Peer(
      input: input, output: output, process: process, isSocket: isSocket, names: server.names,
      announcements: server.announcements)
    guard let conversation = server.host.begin(peer) else {
      peer.send(server.host.refusalLine)
      _ = peer.flush(whenReady: true)  // a pipe is written to only here
      peer.retire()
      if isSocket { depart(input, isKnown: false) }
      return nil
    }
    let place = clients.add(ServedClients.Client(peer: peer, conversation: conversation))
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
      if stopsAt != nil || endsWithLastClient, clients.count == 0 { return }
      events.removeAll(keepingCapacity: true)
      // First, so that no request is read from a client that makes room for another one.
      let reports = server.announcements.takeOrSleep()
      take(reports)
      if !done.isEmpty {
        closeDone()
        continue
      }
      readiness.wait(reports.isEmpty ? timeout() : 0) { events.append($0) }
      server.announcements.awake(wasWoken: events.contains { $0.token == Self.wake })
      var connectionWaits = false
      for event in events {
        switch event.token {
        case Self.wake: break
        case Self.signal: onSignal(lanyard_signalfd_read(signals))
        case Self.listening: connectionWaits = true
        case let token where token & LingeringCloses.mark != 0: lingeringCloses.serve(token: token, buffer: buffer)
        case let token: serve(Int(token - Self.first) / 2, event.events)
        }
      }
      if hasDeadlines { judgeDeadlines() }
      if !done.isEmpty { closeDone() }
      // Last, so that a client that has just ended makes room for one that waits
      if connectionWaits, stopsAt == nil, acceptsAt == nil { acceptOne() }
      if wipesStack {
        wipeStack(.agent)
        wipesStack = false
      }
      clearRegisters()
    }
  }

  private var hasDeadlines: Bool {
    clients.hasDeadlines || stopsAt != nil || acceptsAt != nil || lingeringCloses.nextEnd != nil
  }

  /// Milliseconds until the next deadline; -1 if there is none.
  private func timeout() -> Int32 {
    guard hasDeadlines else { return -1 }
    let deadlines = [stopsAt, acceptsAt, lingeringCloses.nextEnd, clients.earliestDeadline]
    guard let earliest = deadlines.compactMap({ $0 }).min() else { return -1 }
    return Int32(clamping: max(0, (earliest - server.clock.boot()).count + 1))
  }

  private mutating func serve(_ place: Int, _ events: Int16) {
    guard let client = clients[place] else { return }
    // An event of a client that is not read any more may be older than that decision.
    if client.input == .read, events & Int16(POLLIN | POLLHUP) != 0 {
      // Nothing to write and nothing to change: another thread answers, and may hold the lock of the output.
      if read(client, place), !client.peer.needsFlush, events & Int16(POLLOUT) == 0, client.conversation.hasRoom {
        return
      }
    } else if events & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 {
      client.peer.retire()  // both directions are closed
    }
    settle(place, whenReady: events & Int16(POLLOUT) != 0)
  }

  /// True if bytes came.
  private mutating func read(_ client: ServedClients.Client, _ place: Int) -> Bool {
    let count = Glibc.read(client.peer.input, buffer.baseAddress, buffer.count)
    if count > 0 {
      client.conversation.received(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
      explicit_bzero(buffer.baseAddress!, count)
      wipesStack = wipesStack || client.conversation.mayHaveLeftSecretsOnStack
      noteDeadline(of: place)
      return true
    } else if count == 0 {
      endInput(place)
    } else if errno != EAGAIN, errno != EINTR {
      client.peer.retire()
    }
    return false
  }

  /// The caller settles the client next.
  private mutating func endInput(_ place: Int) {
    clients[place]?.input = .ended
    clients[place]?.peer.flushFollows()
    clients[place]?.conversation.endOfInput()
    clients.note(nil, of: place)
  }

  private mutating func noteDeadline(of place: Int) {
    guard let client = clients[place] else { return }
    let deadline = client.conversation.lineDeadline.map { deadline in
      client.readAgainAt.map { max(deadline, $0 + Self.lineTime) } ?? deadline
    }
    clients.note(client.input == .read ? deadline : nil, of: place)
  }

  /// Writes queued bytes, and updates the client's events in epoll if they have changed.
  private mutating func settle(_ place: Int, whenReady: Bool) {
    guard let client = clients[place] else { return }
    let flushed = client.peer.flush(whenReady: whenReady)
    let mayRead = flushed.waits.contains(.reading) && client.conversation.hasRoom
    var waits = flushed.waits
    if !mayRead || client.input == .ended { waits.remove(.reading) }
    let (reads, writes) = (waits.contains(.reading), waits.contains(.writing))
    if flushed.isDone { end(place) }
    clients.noteReading(
      flushed.news.contains(.holdsSharedMemory), hasRead: flushed.news.contains(.hasRead), of: place,
      deadline: server.clock.boot() + Self.readingTime)
    if client.peer.isSocket {
      if !flushed.isDone, waits != client.asked {
        let events = (reads ? Int16(POLLIN) : 0) | (writes ? Int16(POLLOUT) : 0)
        readiness.change(client.peer.input, events, token: Self.token(place))
      }
    } else {
      readiness.poll(client.peer.input, reads ? Int16(POLLIN) : 0, token: Self.token(place))
      // After the end of its input a client that still reads waits for answers; one that has gone does not.
      readiness.poll(
        client.peer.output, writes ? Int16(POLLOUT) : 0, token: Self.token(place) + 1,
        orHangUp: client.input == .ended && !flushed.isDone)
    }
    if client.input != .ended, mayRead != (client.input == .read) {
      client.input = mayRead ? .read : .heldBack
      if mayRead { client.readAgainAt = server.clock.boot() }
      noteDeadline(of: place)
    }
    client.asked = waits
    if flushed.news.contains(.roomForEvents) { client.conversation.drained() }
    if flushed.news.contains(.roomForAnswers) { client.conversation.takesMoreAnswers() }
  }

  private mutating func judgeDeadlines() {
    let now = server.clock.boot()
    for place in clients.late(now) {
      clients[place]?.conversation.lineTimedOut()
      clients.note(nil, of: place)
      settle(place, whenReady: false)
    }
    for place in clients.unread(now) { end(place) }
    lingeringCloses.closeLate(now)
    if let acceptsAt, acceptsAt <= now {
      self.acceptsAt = nil
      if listener.descriptor >= 0, stopsAt == nil {
        readiness.change(listener.descriptor, Int16(POLLIN), token: Self.listening)
      }
    }
    guard let stopsAt, stopsAt <= now else { return }
    for place in clients.indices { end(place) }
  }

  private mutating func take(_ reports: Announcements.Reports) {
    for peer in reports.peers {
      if let place = clients.place(of: peer) { settle(place, whenReady: false) }
    }
    guard reports.ordersStop, stopsAt == nil else { return }
    stopsAt = server.clock.boot() + Self.farewell
    if listener.descriptor >= 0 { readiness.remove(listener.descriptor) }
    for place in clients.indices {
      guard let client = clients[place], client.input != .ended else { continue }
      endInput(place)
      settle(place, whenReady: false)
    }
  }

  private mutating func end(_ place: Int) {
    guard let client = clients[place], !client.isDone else { return }
    client.isDone = true
    done.append(place)
  }

  private mutating func closeDone() {
    defer { done.removeAll(keepingCapacity: true) }
    for place in done {
      guard let client = clients[place] else { continue }
      clients.remove(place)
      let phase = client.peer.retire()
      client.conversation.ended()
      guard client.peer.isSocket else { continue }
      // It was sent everything, and may still send.
      if phase == .closing, client.input != .ended {
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
    switch listener.accept(refusal: server.host.refusalLine) {
    case .client(let fd, let process):
      guard let place = begin(input: fd, output: fd, process: process, isSocket: true) else { return }
      // A client that connects for each request has usually sent it by now.
      serve(place, Int16(POLLIN))
    case .none: break
    case .noDescriptor:
      acceptsAt = server.clock.boot() + .seconds(1)
      readiness.change(listener.descriptor, 0, token: Self.listening)
    }
  }
}
