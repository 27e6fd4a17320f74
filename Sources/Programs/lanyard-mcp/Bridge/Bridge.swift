internal import AgentModel
internal import CommandSupport
internal import JSONRPC
internal import MCPBridge
internal import StreamingHTTP
internal import Synchronization

/// Takes the client's messages, and sends each to the server as a request of its own.
final class Bridge: MessageServer {
  let options: Options
  let output: MessageOutput
  let progress: WaitingProgress
  let state = Mutex(BridgeState())
  let sender: Sender
  let shutdown: Shutdown
  private let memory = ResidentMemory()
  /// One beyond the requests, for notifications: a server that answers none is told what the client cancels.
  private let workers = Workers(maximumThreads: BridgeState.maximumRequests + 1)

  init(_ options: Options) {
    self.options = options
    output = MessageOutput()
    progress = WaitingProgress(output)
    sender = Sender(options)
    shutdown = Shutdown()
    shutdown.server = self
    if options.isQuiet { Output.beQuiet() }
  }

  /// Takes one line of the client.
  func take(_ line: UnsafeRawBufferPointer) {
    var tape = JSONTape()
    let message: ClientMessage
    do throws(UnreadableMessage) {
      message = try ClientMessage(line, &tape)
    } catch {
      return output.write(error.failure.line(id: error.id))
    }
    let call = Call(message, WipedBytes(line))
    switch message.kind {
    case .request(let id): take(request: call, id)
    case .notification where message.method == "notifications/cancelled": cancel(call)
    case .notification, .response: takeOrdered(call)
    }
  }

  private func take(request call: Call, _ id: MessageID) {
    enum Way { case run, hold, refuse(BridgeFailure) }
    let way = state.withLock { state -> Way in
      guard !state.isEnding else { return .refuse(.ending) }
      guard state.requests[id] == nil else { return .refuse(.repeatedID) }
      guard state.requests.count < BridgeState.maximumRequests else { return .refuse(.tooMany) }
      state.requests[id] = call
      if let version = call.message.version {
        state.modernVersion = version
      } else if state.isInitializing {
        state.held.append(call)
        return .hold
      }
      return .run
    }
    switch way {
    case .run: run(call)
    case .hold: break
    case .refuse(let failure): output.write(failure.line(id: id))
    }
  }

  private func run(_ call: Call) {
    workers.run { [self] in
      RequestCall(bridge: self, call: call).run()
      finished(call)
    }
  }

  private func finished(_ call: Call) {
    let isIdle = state.withLock { state in
      if let id = call.id, state.requests[id] === call { state.requests[id] = nil }
      return state.isIdle
    }
    if isIdle { shutdown.becameIdle() }
    memory.requestEnded()
  }

  /// The client gives a request up. Without sessions the end of the stream tells the server, and no message does.
  private func cancel(_ call: Call) {
    let (found, isLegacy) = state.withLock { state in
      (call.message.cancelled.flatMap { state.requests[$0] }, state.session.isOpen)
    }
    if let found {
      let isModern = found.message.version != nil
      found.cancel(endsRequest: isModern)
      if isModern { return }
    }
    if isLegacy { takeOrdered(call) }
  }

  // MARK: notifications and responses

  private func takeOrdered(_ call: Call) {
    enum Way { case wait, start, drop(String) }
    let way = state.withLock { state -> Way in
      guard !state.isEnding else { return .drop("The bridge is ending") }
      if case .response = call.message.kind, !state.session.isOpen {
        return .drop("No session is open, in which the server could have asked")
      }
      guard state.ordered.count < BridgeState.maximumOrdered else { return .drop("Too many messages wait") }
      state.ordered.append(call)
      defer { state.isSendingOrdered = true }
      return state.isSendingOrdered ? .wait : .start
    }
    switch way {
    case .wait: break
    case .start: workers.run { [self] in sendOrdered() }
    case .drop(let reason): Output.warning("\(reason), so a message of the client was dropped.")
    }
  }

  private func sendOrdered() {
    while let call = state.withLock({ $0.ordered.first }) {
      let isAccepted = NotificationCall(bridge: self, call: call).run()
      let held = state.withLock { state -> [Call] in
        state.ordered.removeFirst()
        guard !state.isInitializing else { return [] }
        defer { state.held = [] }
        return state.held
      }
      for request in held { run(request) }
      if isAccepted, call.message.method == "notifications/initialized" { openServerStream() }
    }
    let (isDone, isIdle) = state.withLock { state in
      guard state.ordered.isEmpty else { return (false, false) }
      state.isSendingOrdered = false
      return (true, state.isIdle)
    }
    if !isDone { return sendOrdered() }
    if isIdle { shutdown.becameIdle() }
  }

  /// The stream for messages that belong to no request of the client (2025-11-25, Listening for Messages).
  private func openServerStream() {
    let stream = state.withLock { state -> ServerStream? in
      guard !state.isEnding, state.session.isOpen, state.serverStream?.generation != state.session.generation else {
        return nil
      }
      state.serverStream?.cancellation.cancel()
      let stream = ServerStream(generation: state.session.generation)
      state.serverStream = stream
      return stream
    }
    stream?.start(self)
  }

  /// The server has ended the session; `generation` is the one that the refused message belonged to.
  func closeSession(generation: Int) {
    state.withLock { state in
      guard state.session.generation == generation else { return }
      state.session.close()
      state.serverStream?.cancellation.cancel()
      state.serverStream = nil
    }
  }
}

extension Bridge {
  private static let deleteMilliseconds = 2_000

  var isIdle: Bool { state.withLock { $0.isIdle } }

  func end(_ reason: Shutdown.Reason) -> Bool {
    let (calls, stream, isIdle) = state.withLock { state in
      state.isEnding = true
      return (Array(state.requests.values), state.serverStream, state.isIdle)
    }
    stream?.cancellation.cancel()
    for call in calls where reason == .interrupted || call.message.method == "subscriptions/listen" {
      call.cancel(endsRequest: true)
    }
    return isIdle
  }

  /// Deletes the session at the server (2025-11-25, Session Management).
  func close() {
    let session = state.withLock { $0.session }
    guard session.id != nil else { return }
    let cancellation = HTTPCancellation()
    cancellation.cancel(afterMilliseconds: Self.deleteMilliseconds)
    _ = sender.send(
      Outgoing(method: "DELETE", fields: RequestHeaders.legacy(session), cancellation: cancellation, isForPerson: false)
    ) { _, _ in true }
  }
}

extension BridgeState {
  /// No message of the client is on its way.
  var isIdle: Bool { requests.isEmpty && ordered.isEmpty && !isSendingOrdered }
}
