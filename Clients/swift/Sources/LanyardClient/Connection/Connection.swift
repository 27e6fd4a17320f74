internal import CLanyardClient
#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// One connection to the agent, shared by any number of tasks. When it ends, the client opens another.
///
/// A thread reads the socket and hands each answer to its task. A caller sends its line by itself, if the socket takes
/// it; else the thread sends it later. No task ever blocks its thread.
final class Connection: Sendable {
  /// A call was not sent at all, since the connection had ended before: it may be sent on another one.
  struct NotSent: Error {}

  private struct Outgoing {
    var id: Int?
    var line: WireBuffer
    var sent = 0
  }

  /// A request that waits for one of the agent's places.
  private struct Queued {
    var call: PendingCall
    var method: String
    var params: WireWriter?
    var feed: EventFeed?
  }

  private struct State {
    var core = ConnectionCore()
    var outgoing: [Outgoing] = []
    var queue: [Queued] = []
    var lost: LanyardError?
    /// The agent reads no more. What it wrote before is still read.
    var isDeaf = false
    var isClosed = false
  }

  private let socket: Int32
  /// A byte in this pipe tells the thread that lines wait to be sent.
  private let wakeup: (reading: Int32, writing: Int32)
  private let state = Locked(State())

  /// Takes a connected socket that does not block, and closes it at the end.
  init(socket: Int32) throws(LanyardError) {
    var ends: [Int32] = [-1, -1]
    guard lanyard_client_pipe(&ends) == 0 else {
      close(socket)
      throw LanyardError(.connectionLost, "the program has no descriptors left")
    }
    self.socket = socket
    wakeup = (ends[0], ends[1])
  }

  /// Starts the thread. It holds this object until the connection is lost.
  func start() {
    let started = IOThread.start { self.run() }
    if !started {
      lose(LanyardError(.connectionLost, "the program can start no thread"))
      closeDescriptors()
    }
  }

  /// True if a new call may use the connection.
  var isOpen: Bool { state.withLock { $0.lost == nil && !$0.isDeaf } }

  /// Applies the limits that the agent told.
  func obey(_ limits: AgentLimits) {
    state.withLock { state in
      func limit(_ told: Int, _ otherwise: Int) -> Int { told > 0 ? told : otherwise }
      let own = state.core.limits
      state.core.limits = ConnectionCore.Limits(
        requestsInFlight: limit(limits.requestsInFlight, own.requestsInFlight),
        lineBytes: limit(limits.lineBytes, own.lineBytes), bodyLineBytes: limit(limits.bodyLineBytes, own.bodyLineBytes)
      )
    }
  }

  /// Calls a method. The end of the task cancels the request in the agent.
  ///
  /// - Throws: `NotSent`, `CancellationError`, or `LanyardError`.
  func call(_ method: String, params: WireWriter?, feed: EventFeed? = nil) async throws -> Answer {
    let call = PendingCall()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        call.wait(continuation)
        submit(Queued(call: call, method: method, params: params, feed: feed))
      }
    } onCancel: {
      call.end(.failure(CancellationError()))
      abandon(call)
    }
  }

  /// Sends `event.unsubscribe` and does not wait for its answer. Events that still come are dropped.
  func unsubscribe(_ subscription: String) {
    var params = WireWriter()
    params.beginObject()
    params.member("subscription", subscription)
    params.endObject()
    let endings = state.withLock { state in
      state.core.unsubscribe(subscription)
      guard state.lost == nil, let (id, line) = try? state.core.request("event.unsubscribe", params: params, call: nil)
      else { return [ConnectionCore.Ending]() }
      return send(Outgoing(id: id, line: line), &state)
    }
    for ending in endings { ending.perform() }
  }

  /// Ends the connection. Every call in flight fails with `error`.
  func lose(_ error: LanyardError) {
    let endings = state.withLock { lose(error, &$0) }
    for ending in endings { ending.perform() }
  }

  // MARK: sending

  private func submit(_ queued: Queued) {
    let endings = state.withLock { state in
      guard state.lost == nil, !state.isDeaf else {
        return [ConnectionCore.Ending(call: queued.call, result: .failure(NotSent()))]
      }
      // Calls go in their order: none overtakes one that waits for a place.
      guard state.queue.isEmpty, state.core.hasRoom else {
        state.queue.append(queued)
        return []
      }
      return begin(queued, &state)
    }
    for ending in endings { ending.perform() }
  }

  private func begin(_ queued: Queued, _ state: inout State) -> [ConnectionCore.Ending] {
    guard !queued.call.isOver else { return [] }
    do throws(LanyardError) {
      let (id, line) = try state.core.request(
        queued.method, params: queued.params, call: queued.call, feed: queued.feed)
      return send(Outgoing(id: id, line: line), &state)
    } catch {
      return [.init(call: queued.call, result: .failure(error))]
    }
  }

  /// Begins requests that waited, as far as there are places.
  private func beginQueued(_ state: inout State) -> [ConnectionCore.Ending] {
    var endings: [ConnectionCore.Ending] = []
    while state.lost == nil, !state.isDeaf, state.core.hasRoom, !state.queue.isEmpty {
      endings += begin(state.queue.removeFirst(), &state)
    }
    return endings
  }

  private func send(_ outgoing: Outgoing, _ state: inout State) -> [ConnectionCore.Ending] {
    state.outgoing.append(outgoing)
    guard state.outgoing.count == 1 else { return [] }
    let endings = flush(&state)
    if !state.outgoing.isEmpty { wake() }
    return endings
  }

  /// Sends lines until the socket takes no more.
  private func flush(_ state: inout State) -> [ConnectionCore.Ending] {
    while let first = state.outgoing.first, state.lost == nil, !state.isDeaf {
      let count = first.line.withBytes { bytes in
        let rest = UnsafeRawBufferPointer(rebasing: bytes[first.sent...])
        return lanyard_client_send(socket, rest.baseAddress, rest.count)
      }
      if count >= 0 {
        state.outgoing[0].sent += count
        if state.outgoing[0].sent == first.line.count { state.outgoing.removeFirst() }
        continue
      }
      if errno == EINTR { continue }
      if errno == EAGAIN || errno == EWOULDBLOCK { return [] }
      // The agent may have sent an error before it closed: the thread reads it, and then the end. What was never sent
      // may go to the next connection.
      let unsent = state.outgoing.filter { $0.sent == 0 }.compactMap(\.id)
      state.outgoing = []
      let calls = unsent.compactMap { state.core.unsend($0) } + state.queue.map(\.call)
      state.queue = []
      state.isDeaf = true
      return calls.map { ConnectionCore.Ending(call: $0, result: .failure(NotSent())) }
    }
    return []
  }

  private func wake() {
    var byte: UInt8 = 0
    _ = write(wakeup.writing, &byte, 1)
  }

  /// Cancels the request of a call whose task has stopped waiting.
  private func abandon(_ call: PendingCall) {
    let endings = state.withLock { state in
      state.queue.removeAll { $0.call === call }
      guard state.lost == nil, let id = state.core.id(of: call) else { return [ConnectionCore.Ending]() }
      if let unsent = state.outgoing.firstIndex(where: { $0.id == id && $0.sent == 0 }) {
        state.outgoing.remove(at: unsent)
        state.core.unsend(id)
        return beginQueued(&state)
      }
      guard let line = state.core.cancel(id) else { return [] }
      return send(Outgoing(id: nil, line: line), &state)
    }
    for ending in endings { ending.perform() }
  }

  // MARK: receiving

  private func run() {
    var reader = LineReader()
    while state.withLock({ $0.lost == nil }) {
      var watched = [
        pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
        pollfd(fd: wakeup.reading, events: Int16(POLLIN), revents: 0),
      ]
      if state.withLock({ !$0.outgoing.isEmpty }) { watched[0].events |= Int16(POLLOUT) }
      guard poll(&watched, 2, -1) >= 0 || errno == EINTR else { break }
      if watched[1].revents != 0 { drainWakeup() }
      if watched[0].revents & Int16(POLLOUT) != 0 {
        for ending in state.withLock({ flush(&$0) }) { ending.perform() }
      }
      if watched[0].revents & ~Int16(POLLOUT) != 0 { receive(&reader) }
    }
    lose(Self.wentAway)
    closeDescriptors()
  }

  private func receive(_ reader: inout LineReader) {
    switch reader.fill(from: socket) {
    case .nothing: return
    case .end: return lose(Self.wentAway)
    case .bytes: break
    }
    do throws(LanyardError) {
      while let line = try reader.next() {
        let message = try WireDocument(parsing: line).root
        let endings = try state.withLock { (state) throws(LanyardError) in
          guard state.lost == nil else { return [ConnectionCore.Ending]() }
          let ending = try state.core.lineArrived(message)
          return beginQueued(&state) + (ending.map { [$0] } ?? [])
        }
        for ending in endings { ending.perform() }
        for orphan in state.withLock({ $0.core.takeOrphans() }) { unsubscribe(orphan) }
      }
    } catch {
      lose(error)
    }
  }

  private func drainWakeup() {
    var bytes = [UInt8](repeating: 0, count: 64)
    while read(wakeup.reading, &bytes, bytes.count) > 0 {}
  }

  private func lose(_ error: LanyardError, _ state: inout State) -> [ConnectionCore.Ending] {
    guard state.lost == nil else { return [] }
    state.lost = error
    let unsent = state.queue.map { ConnectionCore.Ending(call: $0.call, result: .failure(NotSent())) }
    state.queue = []
    state.outgoing = []
    if !state.isClosed { shutdown(socket, Int32(SHUT_RDWR)) }
    return state.core.lost(error) + unsent
  }

  private func closeDescriptors() {
    state.withLock { state in
      guard !state.isClosed else { return }
      state.isClosed = true
      close(socket)
      close(wakeup.reading)
      close(wakeup.writing)
    }
  }

  static let wentAway = LanyardError(.connectionLost, "the agent went away")
}
