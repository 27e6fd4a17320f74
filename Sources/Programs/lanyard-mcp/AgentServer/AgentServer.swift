internal import CommandSupport
internal import JSONRPC
internal import MCPBridge
internal import StreamingHTTP
internal import Synchronization
internal import Threads

/// The agent's own server of MCP: each tool is a call to the agent under the grant of the AI agent (docs/mcp.md).
final class AgentServer: MessageServer {
  let options: AgentServerOptions
  let output = MessageOutput()
  let shutdown = Shutdown()
  let agent: AgentPool
  private struct State {
    var calls: [MessageID: ToolCall] = [:]
    var isEnding = false
  }
  private let state = Mutex(State())
  private let workers = Workers(maximumThreads: AgentServer.maximumCalls)

  /// Each has a connection to the agent, which takes 256 of one process.
  private static let maximumCalls = 64

  init(_ options: AgentServerOptions) {
    self.options = options
    agent = AgentPool(mayStart: options.mayStart)
    shutdown.server = self
    if options.isQuiet { Output.beQuiet() }
  }

  func take(_ line: UnsafeRawBufferPointer) {
    var tape = JSONTape()
    let message: ClientMessage
    do throws(UnreadableMessage) {
      message = try ClientMessage(line, &tape)
    } catch {
      return output.write(error.failure.line(id: error.id))
    }
    switch message.kind {
    case .request(let id):
      if let reply = ServerReply.immediate(to: message, id, in: line, version: Version.text, &tape) {
        return output.write(reply)
      }
      call(message, id, line, &tape)
    case .notification where message.method == "notifications/cancelled":
      message.cancelled.flatMap { id in state.withLock { $0.calls[id] } }?.cancel()
    case .notification, .response: break
    }
  }

  private func call(_ message: ClientMessage, _ id: MessageID, _ line: UnsafeRawBufferPointer, _ tape: inout JSONTape) {
    let isModern = message.version != nil
    let arguments: ToolArguments?
    do throws(ToolArguments.Problem) {
      arguments = try Self.arguments(in: line, &tape)
    } catch {
      return output.write(
        ServerReply.toolResult(ToolResult(error.text, isError: true), to: id, isModern: isModern))
    }
    guard let arguments else {
      return output.write(BridgeFailure.invalidParams("There is no such tool.").line(id: id))
    }
    let call = ToolCall(arguments, id, progressToken: message.progressToken)
    let refusal = state.withLock { state -> BridgeFailure? in
      guard !state.isEnding else { return .ending }
      guard state.calls[id] == nil else { return .repeatedID }
      guard state.calls.count < Self.maximumCalls else { return .tooMany }
      state.calls[id] = call
      return nil
    }
    if let refusal { return output.write(refusal.line(id: id)) }
    workers.run { [self] in
      let result = ToolRun(server: self, call: call).result()
      let isIdle = state.withLock { state in
        // Before the answer: the client may use the id again then.
        state.calls[id] = nil
        return state.calls.isEmpty
      }
      if call.answer.take() {
        output.write(ServerReply.toolResult(result, to: id, isModern: isModern))
      }
      if isIdle { shutdown.becameIdle() }
    }
  }

  private static func arguments(
    in line: UnsafeRawBufferPointer, _ tape: inout JSONTape
  ) throws(ToolArguments.Problem) -> ToolArguments? {
    guard (try? JSONScanner.scan(line, onto: &tape, duplicateKeys: .allowed)) != nil else { return nil }
    return try tape.withRoot(of: line) { (root) throws(ToolArguments.Problem) in try ToolArguments(root["params"]) }
  }

  // MARK: the end

  var isIdle: Bool { state.withLock { $0.calls.isEmpty } }

  func end(_ reason: Shutdown.Reason) -> Bool {
    let calls = state.withLock { state in
      state.isEnding = true
      return Array(state.calls.values)
    }
    if reason == .interrupted { for call in calls { call.cancel() } }
    return calls.isEmpty
  }

  /// What waits for a person is withdrawn by the end of its connection.
  func close() {}
}

/// A tool call of the client on its way to the agent.
final class ToolCall: Sendable {
  let arguments: ToolArguments
  let id: MessageID
  let progressToken: MessageID?
  let answer = OneAnswer()
  /// Readable once the client has given the call up.
  let cancelled = WakeUp()

  init(_ arguments: ToolArguments, _ id: MessageID, progressToken: MessageID?) {
    self.arguments = arguments
    self.id = id
    self.progressToken = progressToken
  }

  func cancel() {
    answer.giveUp()
    cancelled.signal()
  }
}
