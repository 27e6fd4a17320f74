internal import AgentPorts
internal import Glibc
internal import JSONRPC
internal import Synchronization

/// One client's descriptors and its output queue. The server's thread reads; any thread may queue.
package final class Peer: ConnectionOutput {
  /// The server does not read from a client with more unread output than this, until half of it was read.
  static let readingBound = 256 << 10
  /// Events beyond this are dropped and reported as a gap (docs/protocol.md, Events).
  static let eventBound = 1 << 20
  /// The number of bytes that a pipe takes completely once poll(2) says that it is writable (PIPE_BUF).
  private static let pipePiece = 4096

  /// How far a client's connection is. It only goes on, never back.
  package enum Phase {
    case open
    /// No more is read; what is queued is still written.
    case closing
    /// The client is gone, or gets no more.
    case gone
  }

  /// What the conversation is told once half of the room is there again.
  private struct Debts: OptionSet {
    let rawValue: UInt8
    /// Events were dropped.
    static let events = Debts(rawValue: 1)
    /// Requests are held back until their answers find room.
    static let answers = Debts(rawValue: 2)
  }

  private struct State: ~Copyable {
    var queue = OutputQueue()
    var phase = Phase.open
    var debts: Debts = []
    /// The backlog passed its bound and is not half read yet.
    var isHeldBack = false
    /// The server knows that there is output to write.
    var isAnnounced = false
    /// `OutputQueue.keptLinesWritten` at the last look.
    var readLines = 0

    var isGone: Bool { phase == .gone }
    mutating func close() { if phase == .open { phase = .closing } }
  }

  let input: Int32
  let output: Int32
  let isSocket: Bool
  let peerProcess: Int32?
  /// Its index in `ServedClients`, for the reading thread alone.
  let place = Atomic(-1)
  private let state = Mutex(State())
  /// `flush` has something to do or to say. While it is false the reading thread need not take the lock, in which another
  /// thread may be writing an answer.
  private let isChanged = Atomic(false)
  private let names: (any PeerNaming)?
  private let announcements: Announcements

  /// - Parameter process: the process that connected; nil if unknown.
  package init(
    input: Int32, output: Int32, process: Int32?, isSocket: Bool, names: (any PeerNaming)?,
    announcements: Announcements
  ) {
    self.names = names
    self.input = input
    self.output = output
    self.isSocket = isSocket
    peerProcess = process
    self.announcements = announcements
  }

  var needsFlush: Bool { isChanged.load(ordering: .acquiring) }

  private func changed() { isChanged.store(true, ordering: .releasing) }

  // MARK: queueing, from any thread

  func send(_ line: WireBytes) {
    let mustAnnounce = state.withLock { state -> Bool in
      guard !state.isGone else { return false }
      state.queue.append(line)
      // A socket takes most answers at once, which avoids waking the server's thread.
      if isSocket, !state.isAnnounced {
        switch state.queue.write(to: output, isSocket: true) {
        case .flushed:
          state.queue.shrink()
          return state.phase == .closing
        case .blocked: break
        case .gone: state.phase = .gone
        }
      }
      changed()
      defer { state.isAnnounced = true }
      return !state.isAnnounced
    }
    if mustAnnounce { announcements.announce(self) }
  }

  func offer(_ line: WireBytes) -> Bool {
    let isOver = state.withLock { state -> Bool in
      guard !state.isGone else { return false }
      guard state.queue.count + line.count <= Self.eventBound else {
        state.debts.insert(.events)
        changed()
        return true
      }
      return false
    }
    if !isOver { send(line) }
    return !isOver
  }

  func append(_ lines: UnsafeRawBufferPointer) {
    // The lock's closure cannot capture the pointer; the bytes are read before it ends, and not kept.
    let address = UInt(bitPattern: lines.baseAddress)
    let count = lines.count
    let isWritten = state.withLock { state in
      guard !state.isGone else { return true }
      var lines = UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: count)
      if isSocket, state.queue.isEmpty {
        let written = OutputQueue.write(lines, to: output, isSocket: true)
        if written == count { return true }
        lines = UnsafeRawBufferPointer(rebasing: lines[max(0, written)...])
      }
      state.queue.append(lines)
      return false
    }
    if !isWritten { changed() }
  }

  func closeAfterFlush() {
    let mustAnnounce = state.withLock { state -> Bool in
      state.close()
      changed()
      defer { state.isAnnounced = true }
      return !state.isAnnounced
    }
    if mustAnnounce { announcements.announce(self) }
  }

  func leave() {
    state.withLock { state in
      state.close()
      if !state.queue.isEmpty { state.phase = .gone }
    }
    changed()
    // In any case: the server may be waiting for a client that never reads.
    announcements.announce(self)
  }

  var takesMoreAnswers: Bool {
    state.withLock { state in
      guard state.queue.count >= Self.readingBound, !state.isGone else { return true }
      state.debts.insert(.answers)
      changed()
      return false
    }
  }

  func resumeReading() { announcements.announce(self) }

  var peerName: String? {
    guard isSocket, let names else { return nil }
    // Within the lock: afterwards the descriptor could belong to another client.
    return state.withLock { $0.isGone ? nil : names.name(ofPeerAt: input) }
  }

  var isOwnersCommandLine: Bool {
    guard isSocket, let names else { return false }
    return state.withLock { $0.isGone ? false : names.isOwnersCommandLine(peerAt: input) }
  }

  var hasUnreadInput: Bool {
    state.withLock { state in
      guard !state.isGone else { return false }
      var entry = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
      return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLIN) != 0
    }
  }

  // MARK: the server's thread

  /// What the server waits for on behalf of this client.
  struct Waits: OptionSet {
    let rawValue: UInt8
    static let reading = Waits(rawValue: 1)
    static let writing = Waits(rawValue: 2)
  }

  /// What the server is told of this client after a flush.
  struct News: OptionSet {
    let rawValue: UInt8
    /// Events were dropped, and there is room again.
    static let roomForEvents = News(rawValue: 1)
    /// Requests were held back, and there is room for their answers.
    static let roomForAnswers = News(rawValue: 2)
    /// A long answer waits, which counts among those of all clients.
    static let holdsSharedMemory = News(rawValue: 4)
    /// Such an answer was written whole since the last time.
    static let hasRead = News(rawValue: 8)
  }

  package struct Flushed {
    var waits: Waits
    let phase: Phase
    let news: News
    /// Nothing is left to do: the descriptors can be closed.
    package var isDone: Bool { phase == .gone || (phase == .closing && !waits.contains(.writing)) }
  }

  /// The reading thread flushes next: until then nothing has to be announced.
  func flushFollows() { state.withLock { $0.isAnnounced = true } }

  /// Writes what the descriptor takes now, and says what to wait for.
  package func flush(whenReady: Bool = false) -> Flushed {
    isChanged.store(false, ordering: .sequentiallyConsistent)
    return state.withLock { state in
      if !state.isGone, !state.queue.isEmpty, isSocket || whenReady {
        if state.queue.write(to: output, isSocket: isSocket, piece: isSocket ? .max : Self.pipePiece) == .gone {
          state.phase = .gone
        }
        state.queue.shrink()
      }
      let writes = !state.isGone && !state.queue.isEmpty
      state.isAnnounced = writes
      var news: News = []
      if state.queue.count < Self.eventBound / 2, state.debts.remove(.events) != nil { news.insert(.roomForEvents) }
      if state.queue.count < Self.readingBound / 2, state.debts.remove(.answers) != nil {
        news.insert(.roomForAnswers)
      }
      if writes, state.queue.keepsObjects { news.insert(.holdsSharedMemory) }
      if state.queue.keptLinesWritten != state.readLines { news.insert(.hasRead) }
      state.readLines = state.queue.keptLinesWritten
      state.isHeldBack = state.queue.count >= (state.isHeldBack ? Self.readingBound / 2 : Self.readingBound)
      var waits: Waits = writes ? .writing : []
      if state.phase == .open, !state.isHeldBack { waits.insert(.reading) }
      return Flushed(waits: waits, phase: state.phase, news: news)
    }
  }

  /// Stops all writing. Called before the descriptors are closed, so that no thread uses them afterwards. Answers that
  /// the client has not read are dropped, with what they count: this object lives as long as its last request.
  ///
  /// - Returns: how far the connection was.
  @discardableResult
  package func retire() -> Phase {
    let (phase, kept) = state.withLock { state -> (Phase, [any AnyObject & Sendable]) in
      defer { state.phase = .gone }
      return (state.phase, state.queue.discard())
    }
    // Not within the lock: the last reference to a share wakes answers that wait for one.
    withExtendedLifetime(kept) {}
    changed()
    return phase
  }
}
