internal import CommandSupport
internal import JSONRPC
internal import MCPBridge
internal import StreamingHTTP
internal import Synchronization
internal import Threads

/// The stream that a server of 2025-11-25 or earlier may offer for messages that belong to no request of the client.
final class ServerStream: Sendable {
  /// The handshake that it belongs to.
  let generation: Int
  let cancellation = HTTPCancellation()

  private static let firstPauseMilliseconds = 1_000
  private static let longestPauseMilliseconds = 60_000

  init(generation: Int) { self.generation = generation }

  func start(_ bridge: Bridge) { _ = DetachedThread.start { self.run(bridge) } }

  private func run(_ bridge: Bridge) {
    var lastEventID: String?
    var pauseMilliseconds = Self.firstPauseMilliseconds
    while let session = bridge.state.withLock({ $0.session.generation == generation ? $0.session : nil }) {
      var fields = [("Accept", "text/event-stream")] + RequestHeaders.legacy(session)
      if let lastEventID { fields.append(("Last-Event-ID", lastEventID)) }
      let outgoing = Outgoing(method: "GET", fields: fields, cancellation: cancellation, isForPerson: false)
      let sent = bridge.sender.send(outgoing) { [self] event, reply in
        take(event, reply, bridge)
        return !cancellation.isCancelled
      }
      switch sent {
      case .cancelled: return
      case .failed: pauseMilliseconds = min(2 * pauseMilliseconds, Self.longestPauseMilliseconds)
      case .replied(let reply, _):
        // 405: the server has no such stream. Any other refusal means as little hope.
        guard reply.form == .events else { return }
        lastEventID = reply.events.lastEventID ?? lastEventID
        pauseMilliseconds = reply.events.retryMilliseconds ?? Self.firstPauseMilliseconds
      }
      var rest = max(pauseMilliseconds, ResumedStream.leastRetryMilliseconds)
      while rest > 0, !cancellation.isCancelled {
        pause(min(rest, 50))
        rest -= 50
      }
      if cancellation.isCancelled { return }
    }
  }

  private func take(_ data: [UInt8], _ reply: Reply, _ bridge: Bridge) {
    data.withUnsafeBytes { bytes in
      var tape = JSONTape()
      guard let message = ServerMessage(bytes, &tape), !reply.repeatsToken(bytes) else {
        return Output.warning("The server sent an event that the client must not get; it was dropped.")
      }
      guard case .response(let id) = message.kind else { return bridge.output.write(OneLine.of(bytes)) }
      // Only the answer to a request whose own stream has ended comes here.
      let call = id.flatMap { id in bridge.state.withLock { $0.requests[id] } }
      guard let call, call.message.version == nil, call.takeAnswer() else { return }
      bridge.state.withLock { state in
        if let id, state.requests[id] === call { state.requests[id] = nil }
      }
      bridge.output.write(OneLine.of(bytes))
      call.cancellation.cancel()
    }
  }
}
