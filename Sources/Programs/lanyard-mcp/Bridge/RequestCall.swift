internal import CommandSupport
internal import CurlTransfers
internal import JSONRPC
internal import MCPBridge
internal import StreamingHTTP
internal import Synchronization

/// A request of the client: sends it, hands on what comes, and sees that the client gets exactly one answer.
final class RequestCall {
  private let bridge: Bridge
  private let call: Call
  private let id: MessageID
  private var tape = JSONTape()
  /// The session that the request belongs to.
  private var session = LegacySession()
  private var hasRefreshedTools = false

  /// After the answer the server has this time to end the stream, so that its connection can be used again.
  private static let endOfStreamMilliseconds = 2_000

  init(bridge: Bridge, call: Call) {
    self.bridge = bridge
    self.call = call
    id = call.id!
  }

  private var isModern: Bool { call.message.version != nil }
  private var isInitialize: Bool { !isModern && call.message.method == "initialize" }

  func run() {
    while true {
      let outgoing = outgoing()
      if !isModern, !isInitialize, session.isEnded { return answer(.sessionEnded) }
      bridge.progress.begin(call)
      let sent = bridge.sender.send(outgoing) { [self] event, reply in take(event, reply) }
      bridge.progress.end(call)
      switch sent {
      case .cancelled: return
      case .failed(let failure): return answer(failure)
      case .replied(let reply, let result):
        if isHeaderMismatch(reply), refreshTools() { continue }
        return finish(reply, result)
      }
    }
  }

  private func outgoing() -> Outgoing {
    var fields = [("Accept", RequestHeaders.accept), ("Content-Type", "application/json")]
    let message = call.message
    bridge.state.withLock { state in
      session = state.session
      if let version = message.version {
        let parameters =
          message.method == "tools/call"
          ? call.body.withBytes { state.tools.fields(of: $0, tool: message.target ?? "", &tape) } : []
        fields += RequestHeaders.modern(message, version: version, parameters: parameters)
      } else if !isInitialize {
        fields += RequestHeaders.legacy(state.session)
      }
    }
    var outgoing = Outgoing(
      method: "POST", fields: fields, body: call.body, cancellation: call.cancellation,
      operation: message.method + " " + (message.target ?? ""))
    outgoing.onHead = { [progress = bridge.progress, call] in progress.end(call) }
    return outgoing
  }

  // MARK: what comes

  /// Takes the data of an event.
  private func take(_ data: [UInt8], _ reply: Reply) -> Bool {
    data.withUnsafeBytes { bytes in
      guard let message = ServerMessage(bytes, &tape) else {
        Output.warning("The server sent an event that is not an MCP message; it was dropped.")
        return
      }
      take(message, bytes, reply)
    }
    return !call.cancellation.isCancelled
  }

  private func take(_ message: ServerMessage, _ bytes: UnsafeRawBufferPointer, _ reply: Reply) {
    if reply.repeatsToken(bytes) {
      if case .response = message.kind { return answer(.repeatsToken) }
      return Output.warning("The server sent a message that repeats the access token; it was dropped.")
    }
    switch message.kind {
    case .response(let other):
      guard other == nil || other == id else {
        return Output.warning(
          "The server answered a request that was not sent on this connection; the answer was dropped.")
      }
      answer(message, bytes, reply)
      call.cancellation.cancel(afterMilliseconds: Self.endOfStreamMilliseconds)
    case .request where isModern:
      Output.warning("The server sent a request, which its protocol version forbids; it was dropped.")
    case .request, .notification:
      guard !call.isAnswered, !call.isCancelled else { return }
      bridge.output.write(OneLine.of(bytes))
    }
  }

  private func answer(_ message: ServerMessage, _ bytes: UnsafeRawBufferPointer, _ reply: Reply) {
    if isInitialize, message.errorCode == nil {
      let session = reply.head?.field("mcp-session-id")
      bridge.state.withLock { $0.session.open(version: message.negotiatedVersion, id: session) }
    }
    guard call.takeAnswer() else { return }
    // Freed before the client can use the id again.
    forget()
    guard case .response(let named) = message.kind, named != nil else {
      return bridge.output.write(ServerMessage.error(bytes, for: id, &tape) ?? BridgeFailure.malformed.line(id: id))
    }
    let respelled = message.spelled(id, in: bytes)
    bridge.output.write(respelled?.withUnsafeBytes { filtered($0) } ?? filtered(bytes))
  }

  private func forget() {
    bridge.state.withLock { state in
      if state.requests[id] === call { state.requests[id] = nil }
    }
  }

  /// The response as the client gets it: without the tools that the specification takes out.
  private func filtered(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    guard isModern, call.message.method == "tools/list" else { return OneLine.of(bytes) }
    let reading = bridge.state.withLock { $0.tools.take(bytes, isFirstPage: !call.message.hasCursor, &tape) }
    for warning in reading.warnings { Output.warning(Text.shown(warning)) }
    return reading.replaced?.withUnsafeBytes { OneLine.of($0) } ?? OneLine.of(bytes)
  }

  private func answer(_ failure: BridgeFailure) {
    guard call.takeAnswer() else { return }
    forget()
    bridge.output.write(failure.line(id: id))
  }

  // MARK: the end

  private func finish(_ reply: Reply, _ result: HTTPResult) {
    guard !call.isAnswered, !call.isCancelled else { return }
    if reply.isTooLarge { return answer(.tooLarge) }
    switch reply.form {
    case .events:
      guard !isModern, let next = ResumedStream(reply.events) else {
        return answer(result == .complete ? .unanswered : .lost)
      }
      resume(next)
    case .message:
      guard result == .complete else { return answer(.lost) }
      takeBody(of: reply)
    case .nothing:
      answer(failure(of: reply, result))
    }
  }

  private func takeBody(of reply: Reply) {
    reply.body.withBytes { bytes in
      if let message = ServerMessage(bytes, &tape) {
        if case .response(nil) = message.kind, isEndOfSession(reply) { return endSession() }
        take(message, bytes, reply)
        // The answer to another request, or a notification: nothing more comes.
        if !call.isAnswered { answer(.unanswered) }
        return
      }
      if isEndOfSession(reply) { return endSession() }
      guard reply.isSuccess, !isModern, takeBatch(bytes, reply) else {
        return answer(reply.isSuccess ? .malformed : refusal(reply, bytes))
      }
      if !call.isAnswered { answer(.unanswered) }
    }
  }

  /// A server that plays the proxy only chooses the words of its own refusal.
  private func refusal(_ reply: Reply, _ bytes: UnsafeRawBufferPointer) -> BridgeFailure {
    guard reply.head?.field("lanyard-refusal") != nil,
      let told = BridgeFailure(refusalOfProxy: bytes, status: reply.status, &tape)
    else { return .refused(status: reply.status) }
    return told
  }

  /// Servers of 2025-03-26 may answer with several messages.
  private func takeBatch(_ bytes: UnsafeRawBufferPointer, _ reply: Reply) -> Bool {
    guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil else { return false }
    let elements = tape.withRoot(of: bytes) { root in
      root.kind == .array ? root.elements.map { [UInt8]($0.raw) } : nil
    }
    for element in elements ?? [] { _ = take(element, reply) }
    return elements != nil
  }

  private func failure(of reply: Reply, _ result: HTTPResult) -> BridgeFailure {
    if isEndOfSession(reply) {
      bridge.closeSession(generation: session.generation)
      return .sessionEnded
    }
    guard result == .complete else { return .lost }
    return reply.isSuccess ? .unanswered : .refused(status: reply.status)
  }

  /// 2025-11-25, Session Management: 404 to a request with a session id.
  private func isEndOfSession(_ reply: Reply) -> Bool { !isModern && session.id != nil && reply.status == 404 }

  private func endSession() {
    bridge.closeSession(generation: session.generation)
    answer(.sessionEnded)
  }

  // MARK: a stream that goes on

  /// Asks for the rest of a stream that ended before the answer. The request itself is not sent again.
  private func resume(_ stream: ResumedStream) {
    var stream = stream
    while !call.isAnswered, !call.isCancelled {
      stream.waitBeforeConnecting(call.cancellation)
      guard !call.cancellation.isCancelled else { return answer(.lost) }
      let fields =
        [("Accept", "text/event-stream"), ("Last-Event-ID", stream.lastEventID)] + RequestHeaders.legacy(session)
      let outgoing = Outgoing(method: "GET", fields: fields, cancellation: call.cancellation, isForPerson: false)
      let sent = bridge.sender.send(outgoing) { [self] event, reply in take(event, reply) }
      guard !call.isAnswered, !call.isCancelled else { return }
      guard stream.take(sent) else { return answer(.lost) }
    }
  }

  // MARK: tools that changed

  /// The headers do not fit the tool any more (MCP 2026-07-28, Client Behavior).
  private func isHeaderMismatch(_ reply: Reply) -> Bool {
    guard isModern, !hasRefreshedTools, call.message.method == "tools/call", reply.status == 400, reply.form == .message
    else { return false }
    return reply.body.withBytes { ServerMessage($0, &tape)?.errorCode == -32020 }
  }

  /// Lists the tools again, and tells whether the request may be sent again: the server has refused it.
  private func refreshTools() -> Bool {
    hasRefreshedTools = true
    return ToolRefresh(bridge: bridge, call: call).run()
  }
}
