internal import CommandSupport
internal import MCPBridge
internal import StreamingHTTP
internal import Synchronization

/// A notification of the client, or its response to a request of the server.
struct NotificationCall {
  let bridge: Bridge
  let call: Call

  /// A server takes a notification at once: no client waits for it.
  private static let milliseconds = 30_000

  /// True if the server took it.
  func run() -> Bool {
    let session = bridge.state.withLock { $0.session }
    call.cancellation.cancel(afterMilliseconds: Self.milliseconds)
    var fields = [("Accept", RequestHeaders.accept), ("Content-Type", "application/json")]
    // A response, and a notification in a session, are of the revisions with sessions.
    let own = call.message.version
    let modern = session.isOpen ? own : own ?? bridge.state.withLock { $0.modernVersion }
    if let modern {
      fields += RequestHeaders.modern(call.message, version: modern, parameters: [])
    } else if session.isEnded {
      Output.warning("The server has ended the session, so a message of the client was dropped.")
      return false
    } else {
      fields += RequestHeaders.legacy(session)
    }
    let outgoing = Outgoing(
      method: "POST", fields: fields, body: call.body, cancellation: call.cancellation, isForPerson: false)
    switch bridge.sender.send(outgoing, onEvent: { _, _ in true }) {
    case .cancelled: return false
    case .failed(let failure):
      Output.warning("A message of the client was not delivered: \(failure.message)")
      return false
    case .replied(let reply, _):
      if modern == nil, session.id != nil, reply.status == 404 { bridge.closeSession(generation: session.generation) }
      if !reply.isSuccess {
        Output.warning("The server refused a message of the client with the HTTP status \(reply.status).")
      }
      return reply.isSuccess
    }
  }
}
